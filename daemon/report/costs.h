#pragma once
// What boots and iterations took, for the advice on their numbers only.
#include "daemon/report/report.h"

namespace kab::report {

/// Nanoseconds; 0: not known. One more iteration of the primary is a run at each point of its workload, with what it
/// leaves to drain. A boot is all the rest of it: set-up, start, tear-down, and the runs that do not become more with
/// the iterations, which are warm-ups, those with counters or a profile (or, where the primary is of these, the plain
/// ones) and those of other workloads. All runs count as equally long.
struct Costs {
    double boot_ns = 0, iteration_ns = 0;
};

Costs measured_costs(const ReportInput& report);

}  // namespace kab::report
