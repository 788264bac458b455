#pragma once
// A swept metric as the discussions print it: a row for each point, a column for each arm.
#include <optional>
#include <string>
#include <vector>

#include "daemon/report/document.h"
#include "daemon/report/report.h"

namespace kab::report {

/// "oversubscribed: more tasks than the 2 CPUs of the machine"; empty for a point with a CPU for each task.
std::string oversubscribed(const ReportInput& report, const std::string& workload, const std::string& point);

/// The primary metric of a sweep: effects of all arms with their intervals, point by point, then the mean over the
/// points and its verdict. Nothing where the primary is another workload's, not swept or not compared.
std::optional<Table> sweep_effects(const ReportInput& report, const std::string& workload,
                                   const std::vector<std::string>& points);

}  // namespace kab::report
