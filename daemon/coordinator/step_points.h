#pragma once
// Fault points (daemon/fault) of what the core decides: each kind of transition and of command has its own.
#include "daemon/coordinator/core/step.h"

namespace kab {

#ifdef KAB_FAULT_POINTS
void pass_decided(const std::vector<core::Transition>& transitions);
void pass_committed(const std::vector<core::Transition>& transitions);
void pass_carried_out(const core::Command& command);
#else
inline void pass_decided(const std::vector<core::Transition>&) {}
inline void pass_committed(const std::vector<core::Transition>&) {}
inline void pass_carried_out(const core::Command&) {}
#endif

}  // namespace kab
