#pragma once
// The parts of pid-check. Each leaves no process behind, and its error says what is wrong with the kernel.
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/guest/workloads/checked_child.h"
#include "common/clock.h"
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

/// The lowest user.max_pid_namespaces with which a namespace can be made: one above those that exist. Like the next one
/// it lowers the limit of the user namespace it is called in, and puts it back.
Result<std::int64_t> lowest_limit();
/// Until a namespace can be made with the limit at `limit`; Fault::timeout after `patience`.
Status wait_until_freed(std::int64_t limit, Nanoseconds patience);

/// More processes come and go than there are numbers, while kernel.pid_max is lowered to `numbers` above those that
/// the kernel keeps for its first processes: each number must be free again. With `nested` as many in a new namespace.
/// For a machine, or at least a PID namespace with a pid_max of its own (Linux 6.14), in which nothing else needs them.
Status check_reuse(std::int64_t numbers, bool nested);
/// The same work must leave no struct pid behind; for a machine on which nothing else runs. The console says that it is
/// so, or that the kernel does not tell (CONFIG_SLUB_DEBUG).
Status check_memory(bool nested);

// Shared by them:

/// In a process of its own, which errors call "outside", whose children are in a new PID namespace.
Status outside(const std::function<Status()>& work);

/// The numbers behind `key` ("NSpid") in a file of /proc; of the namespace of the mount first, of its own last.
Result<std::vector<std::int64_t>> numbers_in(const std::string& file, std::string_view key);
/// The same, which must be these.
Status expect_numbers(const std::string& file, std::string_view key, const std::vector<std::int64_t>& wanted);
/// "getpid() is 3, expected 1" unless both are one.
Status expect(std::string_view what, std::int64_t found, std::int64_t wanted);

/// A number in a file of /proc/sys. What it was is put back at the end of its life.
class Setting {
  public:
    static Result<Setting> take(std::string file);
    Setting(Setting&& other) noexcept
        : file_(std::move(other.file_)), original_(other.original_), changed_(std::exchange(other.changed_, false)) {}
    Setting& operator=(Setting&&) = delete;
    ~Setting();

    std::int64_t original() const { return original_; }
    Status set(std::int64_t value);
    /// Puts it back, and tells if that fails; the destructor then does nothing.
    Status restore();

  private:
    Setting(std::string file, std::int64_t original) : file_(std::move(file)), original_(original) {}
    Status write(std::int64_t value) const;

    std::string file_;
    std::int64_t original_;
    bool changed_ = false;
};

}  // namespace kab::guest::pid_check
