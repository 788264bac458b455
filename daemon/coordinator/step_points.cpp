#include "daemon/coordinator/step_points.h"

#include <array>

#include "daemon/fault/fault_point.h"

#ifdef KAB_FAULT_POINTS
namespace kab {
namespace {

// In the order of the variants' types.
template <class Variant>
using Points = std::array<FaultPointName, std::variant_size_v<Variant>>;

constexpr Points<core::Transition> decided{"set-evaluation.decided", "set-arm.decided",     "add-block.decided",
                                           "set-block.decided",      "add-boot.decided",    "set-boot.decided",
                                           "seal-plan.decided",      "add-attempt.decided", "finish-attempt.decided",
                                           "accept-attempt.decided"};
constexpr Points<core::Transition> committed{
    "set-evaluation.committed", "set-arm.committed",       "add-block.committed", "set-block.committed",
    "add-boot.committed",       "set-boot.committed",      "seal-plan.committed", "add-attempt.committed",
    "finish-attempt.committed", "accept-attempt.committed"};
constexpr Points<core::Command> carried_out{"freeze.carried-out",         "build.carried-out",
                                            "stop-builder.carried-out",   "dispatch.carried-out",
                                            "cancel-attempt.carried-out", "analyse.carried-out"};

}  // namespace

void pass_decided(const std::vector<core::Transition>& transitions) {
    for (const auto& transition : transitions) fault_point(decided[transition.index()]);
}

void pass_committed(const std::vector<core::Transition>& transitions) {
    for (const auto& transition : transitions) fault_point(committed[transition.index()]);
}

void pass_carried_out(const core::Command& command) {
    fault_point(carried_out[command.index()]);
}

}  // namespace kab
#endif
