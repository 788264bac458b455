#include "agent/guest/workloads/ipcns_release.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "agent/guest/pipe.h"
#include "agent/guest/workloads/checked_child.h"
#include "common/files.h"

namespace kab::guest {
namespace {

constexpr std::int64_t most_holders = 32;

/// Until nobody holds the other end any more.
Status wait_for_end(const UniqueFd& read_end) {
    char byte = 0;
    for (;;) {
        const auto got = ::read(read_end.get(), &byte, 1);
        if (got == 0) return {};
        if (got < 0 && errno != EINTR) return fail_errno(errno, "read from a pipe");
    }
}

/// What all holders and their parent have: nobody writes, a closed end is the message.
struct Barrier {
    Pipe made;  ///< the holders close its write end
    Pipe go;    ///< the parent closes its write end
};

/// Makes `namespaces` of them and leaves them when the parent says so.
Status hold(std::int64_t namespaces, Barrier& barrier) {
    barrier.go.write.reset();
    std::vector<UniqueFd> held;
    for (std::int64_t i = 0; i < namespaces; ++i) {
        if (::unshare(CLONE_NEWIPC) != 0) return fail_errno(errno, "unshare(CLONE_NEWIPC)");
        held.emplace_back(::open("/proc/self/ns/ipc", O_RDONLY | O_CLOEXEC));
        if (held.back().get() < 0) return fail_errno(errno, "open /proc/self/ns/ipc");
    }
    barrier.made.write.reset();
    return wait_for_end(barrier.go.read);
}

}  // namespace

Status release_ipc_namespaces_at_once(std::int64_t namespaces) {
    auto made = Pipe::make();
    if (!made) return pass(made);
    auto go = Pipe::make();
    if (!go) return pass(go);
    Barrier barrier{std::move(*made), std::move(*go)};
    const std::int64_t holders = std::min(namespaces, most_holders);
    std::vector<CheckedChild> children;
    for (std::int64_t i = 0; i < holders; ++i) {
        const std::int64_t share = namespaces / holders + (i < namespaces % holders ? 1 : 0);
        auto child = CheckedChild::start(fmt::format("holder {} of {}", i + 1, holders),
                                         [&barrier, share] { return hold(share, barrier); });
        if (!child) return pass(child);
        children.push_back(std::move(*child));
    }
    barrier.made.write.reset();
    if (auto told = wait_for_end(barrier.made.read); !told) return told;
    barrier.go.write.reset();
    for (auto& child : children)
        if (auto ended = child.wait(); !ended) return ended;
    return {};
}

}  // namespace kab::guest
