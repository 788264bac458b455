#pragma once
// Numbers as a reader wants them: four figures, a unit, a spread.
#include <optional>
#include <string>

#include "daemon/stats/analysis.h"

namespace kab::report {

/// "1.177 s", "12.34 ms", "37,516", "5.740 G", "37,950/s". Unit "ns" is time, "1" a count, others follow the number.
std::string quantity(double value, const std::string& unit);

/// "1.177 s ±3.4%": a mean and its relative standard deviation (a share); "±-" where that is unknown.
std::string with_spread(double mean, std::optional<double> relative_sd, const std::string& unit);

/// "0.808", "12.40", "388.2"
std::string ratio(double value);

/// The value of an estimate: a ratio, or for linear metrics a signed difference with its unit.
std::string effect(double value, const stats::Series& series);
/// "0.781 to 0.836"; bounds far away from the estimate, as two blocks give, are cut: ">1000".
std::string interval(const stats::Estimate& estimate, const stats::Series& series);

/// "0.0004", "<0.0001"
std::string p_value(double p);

/// "0.30%", "12.0%", "<0.01%"; "0%" only for 0.
std::string share(double value);

}  // namespace kab::report
