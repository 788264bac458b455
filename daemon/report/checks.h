#pragma once
// The self-checks that ran before anything was timed: who failed, and what is said of it.
#include <cstdint>
#include <string>
#include <vector>

#include "common/json.h"
#include "daemon/report/report.h"

namespace kab::report {

/// The number of the block in which the checks run.
inline constexpr std::int64_t check_block_number = 0;

/// Takes the debug variants out of the arms and the boots of the checks out of the boots, into members of their own.
void set_checks_apart(ReportInput& report);

/// Did the arm, or its debug variant, fail its checks? A control fails with the arm whose image it is.
bool failed_checks(const ReportInput& report, int arm);

/// One sentence for each arm that failed; to be said before anything else.
std::vector<std::string> check_claims(const ReportInput& report);

/// Which checks ran on which kernels, and how they ended; empty for an experiment without checks.
std::string check_summary(const ReportInput& report);

/// null for an experiment without checks.
Json checks_json(const ReportInput& report);

}  // namespace kab::report
