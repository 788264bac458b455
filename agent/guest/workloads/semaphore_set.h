#pragma once
// A set of System V semaphores that is removed again.
#include <cstdint>
#include <span>
#include <vector>

#include "common/result.h"

namespace kab::guest {

/// Owns a private set: removed at the end of its life, by the process that made it only.
class SemaphoreSet {
  public:
    /// Every semaphore starts with `value`. Fault::infra when the kernel's limits (kernel.sem) are too low.
    static Result<SemaphoreSet> make(int semaphores, int value = 0, int mode = 0600);
    SemaphoreSet(SemaphoreSet&& other) noexcept;
    SemaphoreSet& operator=(SemaphoreSet&&) = delete;
    ~SemaphoreSet();

    int id() const { return id_; }
    int size() const { return size_; }
    Result<std::vector<unsigned short>> values() const;
    Status set_values(std::span<const unsigned short> values);
    /// Fails when somebody else has removed it.
    Status remove();

  private:
    SemaphoreSet(int id, int size);
    int id_, size_;
    int owner_;  ///< pid
};

/// semop() of one operation, again when a signal interrupts it. 0, or errno.
int change_semaphore(int set, int semaphore, int by, int flags = 0);

}  // namespace kab::guest
