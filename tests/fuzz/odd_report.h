#pragma once
// Rows of an evaluation as no sane one has them: shapes, values and settings drawn from a seed.
#include <cstdint>

#include "daemon/report/report.h"

namespace kab::test {

/// Rows for report::assemble. The same seed gives the same rows.
report::ReportInput odd_report(std::uint64_t seed);

/// A usual evaluation whose runs are repeated until it has at least `samples` of them.
report::ReportInput large_report(std::size_t samples);

}  // namespace kab::test
