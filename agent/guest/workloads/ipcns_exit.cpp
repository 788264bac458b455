#include "agent/guest/workloads/ipcns_exit.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <optional>

#include "agent/guest/console.h"
#include "agent/guest/shared_memory.h"
#include "agent/guest/text.h"
#include "agent/guest/workloads/ipc_namespaces.h"

namespace kab::guest {
namespace {

/// Room for the namespace that a drain leaves, and for one made by somebody else.
constexpr std::int64_t spare_namespaces = 2;

/// Where failing children say why. A child that succeeds does not touch it.
struct FailureReport {
    std::atomic<std::int64_t> failures{0};
    std::int64_t first_child = 0;  ///< from 1; written by the child that failed first
    int first_error = 0;
};

struct Exit {
    pid_t pid;
    int status;
};

/// The kernel's limits on processes, for the text of a failed fork.
std::string process_limits() {
    rlimit limit{};
    std::string per_user = "unknown";
    if (::getrlimit(RLIMIT_NPROC, &limit) == 0)
        per_user = limit.rlim_cur == RLIM_INFINITY ? "unlimited" : std::to_string(limit.rlim_cur);
    const auto sysctl = [](const char* name) {
        return std::string(trim(read_text(fs::path("/proc/sys/kernel") / name).value_or("unknown")));
    };
    return fmt::format("kernel.pid_max {}, kernel.threads-max {}, RLIMIT_NPROC {}", sysctl("pid_max"),
                       sysctl("threads-max"), per_user);
}

[[noreturn]] void child_main(std::int64_t number, FailureReport& report) {
    if (::unshare(CLONE_NEWIPC) == 0) ::_exit(0);
    const int error = errno;
    if (report.failures.fetch_add(1) == 0) {
        report.first_child = number;
        report.first_error = error;
    }
    ::_exit(1);
}

/// The children of one run: forked, reaped and accounted for.
class Children {
  public:
    Children(std::int64_t count, std::int64_t concurrency, FailureReport& report)
        : count_(count), concurrency_(concurrency == 0 ? count : concurrency), report_(report) {
        // All memory beforehand: the loop forks and waits and does nothing else.
        forked_.reserve(static_cast<std::size_t>(count));
        exits_.reserve(static_cast<std::size_t>(count));
    }

    /// Forks all and waits for all. What went wrong is for verdict().
    void run() {
        for (std::int64_t number = 1; number <= count_; ++number) {
            while (alive() >= concurrency_)
                if (!reap_one()) return;
            const pid_t pid = ::fork();
            if (pid == 0) child_main(number, report_);
            if (pid < 0) {
                fork_error_ = errno;
                break;
            }
            forked_.push_back(pid);
        }
        while (alive() > 0)
            if (!reap_one()) return;
    }

    Status verdict() const {
        const auto made = static_cast<std::int64_t>(forked_.size());
        if (fork_error_ != 0)
            return fail(Fault::io, "{} ({}); lower 'children' or set 'concurrency'",
                        fail_errno(fork_error_, fmt::format("fork of child {} of {}", made + 1, count_)).value().text(),
                        process_limits());
        if (wait_error_ != 0) return fail_errno(wait_error_, "wait for the children");
        if (const auto failures = report_.failures.load(); failures > 0)
            return fail(
                Fault::io, "{} ({} of {} children failed)",
                fail_errno(report_.first_error, fmt::format("unshare(CLONE_NEWIPC) in child {}", report_.first_child))
                    .value()
                    .text(),
                failures, count_);
        for (const Exit& exit : exits_)
            if (exit.status != 0)
                return fail(Fault::io, "child {} of {} {}", number_of(exit.pid), count_, describe_exit(exit.status));
        if (!all_ours()) return fail(Fault::internal, "a process that is not of the workload was waited for");
        return {};
    }

  private:
    std::int64_t alive() const { return static_cast<std::int64_t>(forked_.size() - exits_.size()); }

    bool reap_one() {
        int status = 0;
        pid_t pid = 0;
        do {
            pid = ::waitpid(-1, &status, 0);
        } while (pid < 0 && errno == EINTR);
        if (pid < 0) {
            wait_error_ = errno;
            return false;
        }
        exits_.push_back({pid, status});
        return true;
    }

    std::int64_t number_of(pid_t pid) const {
        return std::find(forked_.begin(), forked_.end(), pid) - forked_.begin() + 1;
    }

    /// The loop counts whatever wait() gives; that these were our children is checked afterwards.
    bool all_ours() const {
        auto forked = forked_;
        std::vector<pid_t> reaped;
        for (const Exit& exit : exits_) reaped.push_back(exit.pid);
        std::sort(forked.begin(), forked.end());
        std::sort(reaped.begin(), reaped.end());
        return forked == reaped;
    }

    std::int64_t count_, concurrency_;
    FailureReport& report_;
    std::vector<pid_t> forked_;
    std::vector<Exit> exits_;
    int fork_error_ = 0, wait_error_ = 0;
};

class IpcnsExit final : public Workload {
  public:
    Status prepare(const RunContext& context) override {
        const std::int64_t children = context.parameter("children");
        const std::int64_t together = context.parameter("concurrency");
        if (auto fits = check_pids(together == 0 ? children : std::min(together, children)); !fits) return fits;
        // Only once: later there may be namespaces of our own, which must not be taken for others'.
        if (lowest_limit_ == 0) {
            const auto lowest = lowest_ipc_namespace_limit();
            if (!lowest) return pass(lowest);
            lowest_limit_ = *lowest;
        }
        auto limit = IpcNamespaceLimit::take();
        if (!limit) return pass(limit);
        limit_.emplace(std::move(*limit));
        return limit_->raise(children + lowest_limit_ + spare_namespaces);
    }

    Result<std::vector<msg::Sample>> run(const RunContext& context, Meter& meter) override {
        auto report = Shared<FailureReport>::make();
        if (!report) return pass(report);
        Children children(context.parameter("children"), context.parameter("concurrency"), *report->operator->());
        if (auto started = meter.start(); !started) return pass(started);
        children.run();
        if (auto stopped = meter.stop(); !stopped) return pass(stopped);
        if (auto good = children.verdict(); !good) return pass(good);
        return std::vector{sample("elapsed", static_cast<double>(meter.elapsed_ns()))};
    }

    Result<std::vector<msg::Sample>> drain(const RunContext& context, const Meter& meter) override {
        const auto drained_ns = wait_for_ipc_namespaces_below(lowest_limit_, context.drain_limit);
        if (!drained_ns) return pass(drained_ns);
        if (auto restored = limit_->restore(); !restored) return pass(restored);
        return std::vector{sample("backlog", static_cast<double>(*drained_ns - meter.stopped_ns()))};
    }

  private:
    static Status check_pids(std::int64_t together) {
        const auto text = read_text("/proc/sys/kernel/pid_max");
        const auto most = text ? parse_integer(trim(*text)) : std::nullopt;
        if (!most || together < *most) return {};
        return fail(Fault::usage, "{} children at once exceed kernel.pid_max {}; lower 'children' or set 'concurrency'",
                    together, *most);
    }

    std::int64_t lowest_limit_ = 0;
    std::optional<IpcNamespaceLimit> limit_;  ///< raised from prepare() to drain()
};

}  // namespace

std::unique_ptr<Workload> make_ipcns_exit() {
    return std::make_unique<IpcnsExit>();
}

}  // namespace kab::guest
