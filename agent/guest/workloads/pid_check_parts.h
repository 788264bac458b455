#pragma once
// The parts of pid-check. Each leaves no process behind, and its error says what is wrong with the kernel.
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "agent/guest/workloads/checked_child.h"
#include "common/result.h"

namespace kab::guest::pid_check {

/// How deep PID namespaces can be nested below the one of the caller.
struct Depth {
    bool supported = false;  ///< CONFIG_PID_NS
    int levels = 0;          ///< 0 with support: the kernel has room for the initial namespace alone
};

/// Nests until the kernel refuses, which must be with ENOSPC, and looks at each level's numbers.
Result<Depth> find_depth();

// For a kernel in which they can be nested:
Status check_numbers();  ///< one process seen from inside and outside, by /proc, sockets, pidfd and sessions
Status check_signals();  ///< who reaches whom, and what becomes of process 1
Status check_orphans();  ///< are adopted and reaped by process 1 of their namespace
Status check_set_tid();  ///< clone3 with numbers that are asked for, and what a refused one leaves behind
Status check_the_end(std::int64_t processes);  ///< of process 1 ends all others, before it is reaped

// Shared by them:

/// In a process of its own, which errors call "outside", whose children are in a new PID namespace.
Status outside(const std::function<Status()>& work);

/// The numbers behind `key` ("NSpid") in a file of /proc; of the namespace of the mount first, of its own last.
Result<std::vector<std::int64_t>> numbers_in(const std::string& file, std::string_view key);
/// The same, which must be these.
Status expect_numbers(const std::string& file, std::string_view key, const std::vector<std::int64_t>& wanted);
/// "getpid() is 3, expected 1" unless both are one.
Status expect(std::string_view what, std::int64_t found, std::int64_t wanted);

}  // namespace kab::guest::pid_check
