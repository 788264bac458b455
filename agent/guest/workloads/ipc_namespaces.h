#pragma once
// The number of IPC namespaces that the kernel has not freed yet.
//
// The kernel shows it nowhere, but it holds it against user.max_ipc_namespaces: with that limit set
// to N, unshare(CLONE_NEWIPC) fails with ENOSPC as long as N or more are left. (The namespace that
// the system booted with is not counted.) A namespace counts until the very end of its free.
#include <cstdint>

#include "common/clock.h"
#include "common/result.h"

namespace kab::guest {

/// Owns the value of user.max_ipc_namespaces: what it was is written back at the end of its life.
class IpcNamespaceLimit {
  public:
    static Result<IpcNamespaceLimit> take();
    IpcNamespaceLimit(IpcNamespaceLimit&& other) noexcept;
    IpcNamespaceLimit& operator=(IpcNamespaceLimit&&) = delete;
    ~IpcNamespaceLimit();

    Status set(std::int64_t limit);
    /// Sets the limit to at least `needed`.
    Status raise(std::int64_t needed);
    /// Writes back what was found; the destructor then does nothing.
    Status restore();

  private:
    explicit IpcNamespaceLimit(std::int64_t original) : original_(original), current_(original) {}
    std::int64_t original_, current_;
};

/// The lowest limit under which a new IPC namespace can be made: 1 more than others hold. In a guest
/// that is 1. Waits a little for those that are just being freed. Fault::infra when there are more
/// than 200; an error, too, when none can be made at all.
Result<std::int64_t> lowest_ipc_namespace_limit();

/// Waits until fewer than `limit` namespaces are left, trying every millisecond; the answer is when
/// that was, by raw_clock_ns(). Each success leaves one namespace, which is freed in its turn: a
/// later call with the same limit waits for it too. Fault::timeout after `patience`.
Result<std::int64_t> wait_for_ipc_namespaces_below(std::int64_t limit, Nanoseconds patience);

}  // namespace kab::guest
