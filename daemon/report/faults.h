#pragma once
// Boots that failed through the kernel or the workload, grouped by what befell them.
#include <string>
#include <vector>

#include "common/json.h"
#include "daemon/report/report.h"

namespace kab::report {

/// One cause: failed boots of an arm with the same outcome and the same signature, if any; where that is not the fault
/// that ended them, also with the same detail.
struct FaultGroup {
    const store::FailedBootRow* first = nullptr;  ///< of ReportInput::failed
    bool in_checks = false;                       ///< they are boots of the check block
    int boots = 0;
};

/// By arm as declared, those of its checks first, then as they came.
std::vector<FaultGroup> fault_groups(const ReportInput& report);

/// What of a console event tells where it happened: its lines without registers and code bytes, at most `most`.
std::vector<std::string> trace_of(const std::string& text, std::size_t most);

/// The list `faults` of the JSON report.
Json faults_json(const ReportInput& report);

}  // namespace kab::report
