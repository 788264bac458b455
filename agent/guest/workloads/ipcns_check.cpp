#include "agent/guest/workloads/ipcns_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <optional>

#include "agent/guest/workloads/checked_child.h"
#include "agent/guest/workloads/ipc_namespaces.h"
#include "agent/guest/workloads/ipcns_objects.h"
#include "agent/guest/workloads/ipcns_release.h"
#include "agent/guest/workloads/leak_search.h"
#include "common/files.h"

namespace kab::guest {
namespace {

constexpr std::int64_t together = 32;         // children alive at a time
constexpr std::int64_t spare_namespaces = 4;  // two of a round, one of a drain, one of somebody else
constexpr int parents_value = 5, leavers_value = 7;
/// Less than any object that a namespace has: what grows by more in each batch is not freed.
constexpr std::int64_t least_leak_bytes = 256;

Status enter_new_namespace() {
    if (::unshare(CLONE_NEWIPC) != 0) return fail_errno(errno, "unshare(CLONE_NEWIPC)");
    return expect_no_semaphore();
}

/// Message queues of namespaces that are never freed count against their user: a kernel that leaks would meet the
/// limit before the search for leaks is over. Others than root have the limit that they have.
Status lift_queue_limit() {
    const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
    if (::setrlimit(RLIMIT_MSGQUEUE, &none) != 0 && errno != EPERM)
        return fail_errno(errno, "setrlimit(RLIMIT_MSGQUEUE)");
    return {};
}

/// Each child fills a namespace of its own and exits.
Status fill_batch(std::int64_t namespaces) {
    for (std::int64_t first = 0; first < namespaces; first += together) {
        std::vector<CheckedChild> children;
        for (std::int64_t i = first; i < std::min(namespaces, first + together); ++i) {
            auto child = CheckedChild::start(fmt::format("child {} of {}", i + 1, namespaces), [i]() -> Status {
                if (auto lifted = lift_queue_limit(); !lifted) return lifted;
                if (auto entered = enter_new_namespace(); !entered) return entered;
                return fill_namespace(static_cast<int>(i % 100) + 1);
            });
            if (!child) return pass(child);
            children.push_back(std::move(*child));
        }
        for (auto& child : children)
            if (auto ended = child.wait(); !ended) return ended;
    }
    return {};
}

/// What the one who leaves and the one who enters tell each other.
struct Board {
    std::atomic<bool> filled{false}, go{false}, failed{false};
};

Status leave(Board& board) {
    Status done = enter_new_namespace();
    if (done) done = make_semaphore(leavers_value);
    board.failed = !done.has_value();
    board.filled = true;
    while (done && !board.go) ::sched_yield();
    return done;
}

/// The namespace of `pid`; no descriptor if that has left it already.
Result<UniqueFd> open_namespace(pid_t pid) {
    const auto path = fmt::format("/proc/{}/ns/ipc", pid);
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const bool gone = errno == ENOENT || errno == ESRCH || errno == EACCES;
    if (fd.get() < 0 && !gone) return fail_errno(errno, "open " + path);
    return fd;
}

/// In every second round the other one leaves while the namespace is being looked up, else while it is being entered.
Status enter(Board& board, pid_t leaver, std::int64_t round) {
    while (!board.filled) ::sched_yield();
    if (board.failed) return {};  // it says why
    const bool look_up_late = round % 2 == 1;
    if (look_up_late) board.go = true;
    for (std::atomic<std::int64_t> wait{0}; look_up_late && wait < round % 64 * 100; ++wait) continue;
    const auto fd = open_namespace(leaver);
    board.go = true;
    if (!fd) return pass(fd);
    if (fd->get() < 0) return {};
    if (::setns(fd->get(), CLONE_NEWIPC) != 0)
        return fail_errno(errno, "setns into an ipc namespace that is held open, while its last process leaves it,");
    if (auto found = expect_semaphore(leavers_value); !found) return found;
    if (auto removed = remove_semaphore(); !removed) return removed;
    return fill_namespace(leavers_value);
}

Status enter_while_left(std::int64_t round) {
    auto board = Shared<Board>::make();
    if (!board) return pass(board);
    Board& shared = *board->operator->();
    auto leaver = CheckedChild::start(fmt::format("the leaving process of round {}", round + 1),
                                      [&shared] { return leave(shared); });
    if (!leaver) return pass(leaver);
    auto enterer = CheckedChild::start(fmt::format("the entering process of round {}", round + 1),
                                       [&shared, &leaver, round] { return enter(shared, leaver->pid(), round); });
    if (!enterer) return pass(enterer);
    if (auto ended = enterer->wait(); !ended) return ended;
    return leaver->wait();
}

class IpcnsCheck final : public Workload {
  public:
    Status prepare(const RunContext& context) override {
        const auto lowest = lowest_ipc_namespace_limit();
        if (!lowest) return pass(lowest);
        lowest_limit_ = *lowest;
        auto limit = IpcNamespaceLimit::take();
        if (!limit) return pass(limit);
        limit_.emplace(std::move(*limit));
        const auto most = context.parameter("namespaces") * (most_batches + 1) + context.parameter("rounds");
        return limit_->raise(most + lowest_limit_ + spare_namespaces);
    }

    Result<std::vector<msg::Sample>> run(const RunContext& context, Meter& meter) override {
        if (auto started = meter.start(); !started) return pass(started);
        if (auto made = make_semaphore(parents_value); !made) return pass(made);
        if (auto released = release_ipc_namespaces_at_once(context.parameter("namespaces")); !released)
            return pass(released);
        if (auto filled = fill_batch(context.parameter("namespaces")); !filled) return pass(filled);
        for (std::int64_t round = 0; round < context.parameter("rounds"); ++round)
            if (auto entered = enter_while_left(round); !entered) return pass(entered);
        // What the others did in theirs is not seen here.
        if (auto found = expect_semaphore(parents_value); !found) return pass(found);
        if (auto removed = remove_semaphore(); !removed) return pass(removed);
        if (auto stopped = meter.stop(); !stopped) return pass(stopped);
        return std::vector<msg::Sample>();
    }

    Result<std::vector<msg::Sample>> drain(const RunContext& context, const Meter&) override {
        const std::int64_t deadline_ns = raw_clock_ns() + context.drain_limit.count();
        const std::int64_t namespaces = context.parameter("namespaces");
        LeakSearch search;  // the first batch is that of the run
        search.batch_name = fmt::format("batch of {} ipc namespaces", namespaces);
        search.least_leak_bytes = namespaces * least_leak_bytes;
        search.carry_out = [=] { return fill_batch(namespaces); };
        search.measure = [=, this]() -> Result<std::int64_t> {
            const Nanoseconds left{std::max<std::int64_t>(0, deadline_ns - raw_clock_ns())};
            if (auto freed = wait_for_ipc_namespaces_below(lowest_limit_, left); !freed) return pass(freed);
            return kernel_objects();
        };
        if (auto freed = expect_no_leak(search); !freed) return pass(freed);
        if (auto restored = limit_->restore(); !restored) return pass(restored);
        return std::vector<msg::Sample>();
    }

  private:
    std::int64_t lowest_limit_ = 0;
    std::optional<IpcNamespaceLimit> limit_;  ///< raised from prepare() to drain()
};

}  // namespace

std::unique_ptr<Workload> make_ipcns_check() {
    return std::make_unique<IpcnsCheck>();
}

}  // namespace kab::guest
