#include "agent/guest/workloads/ipc_namespaces.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "agent/guest/console.h"
#include "agent/guest/perf/meter.h"
#include "agent/guest/shared_memory.h"
#include "agent/guest/text.h"
#include "common/files.h"
#include "common/units.h"

namespace kab::guest {
namespace {

constexpr const char* limit_file = "/proc/sys/user/max_ipc_namespaces";
constexpr std::int64_t most_foreign_namespaces = 200;
/// How long a namespace that is on its way out may still be seen.
constexpr Nanoseconds time_to_free = std::chrono::milliseconds(50);

/// What a probing child found.
struct Probe {
    std::int64_t made_ns = 0;  ///< when a namespace was made; 0 if none was
    int error = 0;             ///< of unshare, other than ENOSPC
};

/// Runs in the child: tries until a namespace can be made. Sleeping is right here: the kernel gives
/// no event for a freed namespace, and a failed attempt is a few atomic operations.
void probe_until(std::int64_t deadline_ns, Probe& probe) {
    while (::unshare(CLONE_NEWIPC) != 0) {
        if (errno != ENOSPC) {
            probe.error = errno;
            return;
        }
        if (raw_clock_ns() >= deadline_ns) return;
        const timespec step{0, 1000000};
        ::nanosleep(&step, nullptr);
    }
    probe.made_ns = raw_clock_ns();
}

/// One child that tries for `patience`; made_ns is 0 when it was in vain.
Result<Probe> run_probe(Nanoseconds patience) {
    auto probe = Shared<Probe>::make();
    if (!probe) return pass(probe);
    const std::int64_t deadline_ns = raw_clock_ns() + patience.count();
    const pid_t child = ::fork();
    if (child < 0) return fail_errno(errno, "fork of the child that probes for free ipc namespaces");
    if (child == 0) {
        probe_until(deadline_ns, *probe->operator->());
        ::_exit(0);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return fail_errno(errno, "wait for the child that probes for free ipc namespaces");
    if (status != 0) return fail(Fault::io, "the child that probes for free ipc namespaces {}", describe_exit(status));
    const Probe found = *probe->operator->();
    if (found.error != 0)
        return fail_errno(found.error, "unshare(CLONE_NEWIPC) while waiting for ipc namespaces to be freed");
    return found;
}

Status write_limit(std::int64_t value) {
    // Not write_file(): that replaces a file, and this one can only be written in place.
    auto fd = open_file(limit_file, O_WRONLY);
    if (!fd) return pass(fd);
    if (auto written = write_all(fd->get(), fmt::format("{}\n", value)); !written)
        return fail(Fault::io, "set user.max_ipc_namespaces to {}: {}", value, written.error().text());
    return {};
}

}  // namespace

Result<IpcNamespaceLimit> IpcNamespaceLimit::take() {
    auto text = read_file(limit_file);
    if (!text)
        return fail(Fault::io, "{} (the kernel needs CONFIG_IPC_NS, CONFIG_PROC_FS and CONFIG_SYSCTL)",
                    text.error().text());
    const auto value = parse_integer(trim(*text));
    if (!value) return fail(Fault::io, "{}: not a number: {}", limit_file, trim(*text));
    return IpcNamespaceLimit(*value);
}

IpcNamespaceLimit::IpcNamespaceLimit(IpcNamespaceLimit&& other) noexcept
    : original_(other.original_), current_(std::exchange(other.current_, other.original_)) {}

IpcNamespaceLimit::~IpcNamespaceLimit() {
    if (auto restored = restore(); !restored) say(restored.error().text());
}

Status IpcNamespaceLimit::set(std::int64_t limit) {
    if (limit == current_) return {};
    auto written = write_limit(limit);
    if (written) current_ = limit;
    return written;
}

Status IpcNamespaceLimit::raise(std::int64_t needed) {
    return current_ >= needed ? Status{} : set(needed);
}

Status IpcNamespaceLimit::restore() {
    return set(original_);
}

Result<std::int64_t> lowest_ipc_namespace_limit() {
    auto limit = IpcNamespaceLimit::take();
    if (!limit) return pass(limit);
    for (std::int64_t tried = 1; tried <= most_foreign_namespaces + 1; ++tried) {
        if (auto set = limit->set(tried); !set) return pass(set);
        const auto probe = run_probe(time_to_free);
        if (!probe) return pass(probe);
        if (probe->made_ns == 0) continue;
        if (auto restored = limit->restore(); !restored) return pass(restored);
        return tried;
    }
    return fail(Fault::infra, "more than {} ipc namespaces exist before the first run", most_foreign_namespaces);
}

Result<std::int64_t> wait_for_ipc_namespaces_below(std::int64_t limit, Nanoseconds patience) {
    auto owned = IpcNamespaceLimit::take();
    if (!owned) return pass(owned);
    if (auto set = owned->set(limit); !set) return pass(set);
    const auto probe = run_probe(patience);
    if (auto restored = owned->restore(); !restored) return pass(restored);
    if (!probe) return pass(probe);
    if (probe->made_ns == 0)
        return fail(Fault::timeout,
                    "backlog not drained within {}: the kernel has not freed the ipc namespaces that the run left",
                    format_duration(patience));
    return probe->made_ns;
}

}  // namespace kab::guest
