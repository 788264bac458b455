#pragma once
// One heavy thing at a time on this machine, over all users and daemons: a kernel build and a boot
// that is measured must never overlap, nor two of either. A lock file in a place all users share.
#include <functional>
#include <optional>
#include <string>

#include "common/files.h"

namespace kab {

/// The lock, held until destroyed or until the process ends, however it ends.
class MachineLock {
  public:
    /// Waits. `purpose` ("building kernel 12ab...") is what others are told. `on_wait` is called once, with
    /// holder(), if somebody else has the lock. Fault::io when the lock file cannot be used.
    static Result<MachineLock> take(const std::string& purpose,
                                    const std::function<void(const std::string& holder)>& on_wait = {});

    /// "4711 building kernel 12ab..." of who has the lock now; "another process" if unknown.
    static std::string holder();

    /// KAB_MACHINE_LOCK, else /run/lock/kab-machine.lock, else /tmp/kab-machine.lock.
    static fs::path path();

    MachineLock(MachineLock&&) noexcept = default;
    MachineLock& operator=(MachineLock&&) noexcept = default;
    ~MachineLock();

  private:
    friend class MachineLockQueue;
    explicit MachineLock(UniqueFd fd) : fd_(std::move(fd)) {}
    UniqueFd fd_;
};

/// As take(), for event loops: call poll() every so often (100 ms) until it gives the lock. The place in
/// the queue is kept between calls, so a process that takes the lock again and again cannot starve others.
class MachineLockQueue {
  public:
    explicit MachineLockQueue(std::string purpose) : purpose_(std::move(purpose)) {}
    /// The lock, or nullopt while others have it.
    Result<std::optional<MachineLock>> poll();

  private:
    friend class MachineLock;
    std::string purpose_;
    UniqueFd queue_, lock_;  ///< queue_ is held while waiting for lock_
    bool queued_ = false;
};

}  // namespace kab
