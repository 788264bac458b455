#pragma once
// What ran in each boot, as the experiment declares it.
#include <string>
#include <vector>

#include "daemon/report/report.h"

namespace kab::report {

/// A text for each workload: "ipcns-exit, children 150; at concurrency 1, 0 (all at once); 3 timed iterations after
/// 1 warm-up, 1 with counters".
std::vector<std::string> workload_texts(const ReportInput& report);

}  // namespace kab::report
