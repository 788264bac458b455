#pragma once
#include <cstdint>

namespace kab::stats {

/// Fisher's exact test of two shares, two-sided: the probability, both margins fixed, of all tables no
/// likelier than the one seen (tables within 1e-7 of its probability count as equally likely, as in R).
/// 0 <= failed <= all on each side; 1 when a side is empty.
double fisher_exact(std::int64_t failed_a, std::int64_t all_a, std::int64_t failed_b, std::int64_t all_b);

}  // namespace kab::stats
