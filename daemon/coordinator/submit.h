#pragma once
#include <cstdint>
#include <string>

#include "daemon/coordinator/service.h"
#include "daemon/plan/plan.h"
#include "daemon/store/rows.h"

namespace kab {

/// The rows of a new evaluation; its plan hash is not known yet.
store::NewEvaluation new_evaluation(const std::string& uid, const Submission& submission, const Plan& plan,
                                    const Json& experiment);

/// SHA-256 over all that decides what is booted and how it is judged: the plan, the kernels (their keys, which cover
/// source, patches, configuration and toolchain) and command lines of its arms, the agent's program, QEMU's version
/// and kab's, and, where a workload needs it, the guests' shell (its SHA-256). Equal for equal content, wherever the
/// files lie.
std::string plan_hash(const Plan& plan, const std::vector<std::string>& kernel_keys, const std::string& agent_hash,
                      const std::string& emulator, const std::string& shell_hash);

/// The swept parameters of a point: "tasks=4 loops=2"; empty when nothing is swept.
std::string point_label(const WorkloadSpec& workload, const Parameters& point);

}  // namespace kab
