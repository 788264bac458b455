#pragma once
#include <cstdint>
#include <string>

#include "daemon/coordinator/service.h"
#include "daemon/plan/plan.h"
#include "daemon/store/rows.h"

namespace kab {

/// The rows of a new evaluation. The plan hash covers the plan, the resolved experiment, the content of all
/// its inputs, the agent and kab's version.
store::NewEvaluation new_evaluation(const std::string& uid, const Submission& submission, const Plan& plan,
                                    const Json& experiment, const std::string& agent_hash);

/// The swept parameters of a point: "tasks=4 loops=2"; empty when nothing is swept.
std::string point_label(const WorkloadSpec& workload, const Parameters& point);

}  // namespace kab
