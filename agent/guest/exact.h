#pragma once
// Exact mode: the guest's clock counts instructions, so that nothing may come from outside and nothing may depend on
// it.
#include <cstdint>
#include <functional>

#include "common/files.h"
#include "protocol/messages.h"

namespace kab::guest {

/// Where kab-host packs the plan of an exact boot into the initramfs.
inline constexpr const char* packed_plan = "/kab/plan";

/// The plan in that file. Fault::not_found when there is none, Fault::protocol for nonsense.
Result<msg::AgentPlan> read_plan(const fs::path& file);

/// Waits until so long after the next tick of the kernel's timer (a whole number of ticks is left out). It spins: the
/// CPU does not become idle.
void await_timer_phase(std::int64_t phase_ns);

/// Calls `work` with the heap, what is mapped after it, the pages of memory that are handed out next and the stack (and
/// so those of all children) moved by that many pages. 0 moves nothing.
void with_layout(std::int64_t pages, const std::function<void()>& work);

}  // namespace kab::guest
