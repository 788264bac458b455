#pragma once
// Quantities as people write them, and back.
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/clock.h"
#include "common/result.h"

namespace kab {

/// "60s", "5m", "2h", "250ms", "1d"; a bare number is refused. Fault::spec with what is accepted.
Result<Nanoseconds> parse_duration(std::string_view text);

/// "512M", "2G", "64K" (powers of 1024); bytes.
Result<std::int64_t> parse_bytes(std::string_view text);

/// "2%" → 0.02; "0.02" → 0.02. Must be finite.
Result<double> parse_share(std::string_view text);

/// Two leading units: "2h 05m", "3m 20s", "12.3s", "45ms". For people.
std::string format_duration(Nanoseconds duration);

/// "17.2 MiB". For people.
std::string format_bytes(std::int64_t bytes);

}  // namespace kab
