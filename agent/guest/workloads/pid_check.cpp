#include "agent/guest/workloads/pid_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "agent/guest/console.h"
#include "agent/guest/text.h"
#include "agent/guest/workloads/pid_check_parts.h"
#include "common/files.h"

namespace kab::guest {

namespace pid_check {
namespace {

/// Mainline's MAX_PID_NS_LEVEL.
constexpr int deepest = 32;

struct Descent {
    int levels = 0;
    int error = 0;                                         ///< of the unshare that failed
    std::array<std::int64_t, deepest + 2> number_above{};  ///< of process 1 of a level, in the level above
};

Status descend(int level, Descent& found);

/// Process 1 of a level; the initial namespace is level 0.
Status look_around(int level, Descent& found) {
    if (auto one = expect("getpid() of process 1", ::getpid(), 1); !one) return one;
    if (auto none = expect("getppid() of process 1, whose parent is outside", ::getppid(), 0); !none) return none;
    const auto numbers = numbers_in("/proc/self/status", "NSpid");
    if (!numbers) return pass(numbers);
    if (numbers->size() != static_cast<std::size_t>(level) + 1 || numbers->back() != 1)
        return fail(Fault::io, "NSpid of process 1 of level {} has {} numbers and ends in {}", level, numbers->size(),
                    numbers->back());
    found.number_above[static_cast<std::size_t>(level)] = (*numbers)[static_cast<std::size_t>(level) - 1];
    return descend(level, found);
}

Status descend(int level, Descent& found) {
    if (::unshare(CLONE_NEWPID) != 0) {
        found.levels = level;
        found.error = errno;
        return {};
    }
    if (level == deepest) return fail(Fault::io, "PID namespaces nest deeper than {} levels", deepest);
    auto first = CheckedChild::start(fmt::format("level {}", level + 1), [&] { return look_around(level + 1, found); });
    if (!first) return pass(first);
    const std::int64_t number = first->pid();
    if (auto ended = first->wait(); !ended) return ended;
    return expect("what fork returned for process 1 of a namespace, which sees itself as that number",
                  found.number_above[static_cast<std::size_t>(level) + 1], number);
}

long clone_in_new_namespace() {
    const long pid = ::syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
    if (pid == 0) ::_exit(0);
    return pid;
}

}  // namespace

Result<Depth> find_depth() {
    auto found = Shared<Descent>::make();
    if (!found) return pass(found);
    Descent& descent = *found->operator->();
    auto top = CheckedChild::start("level 0", [&] { return descend(0, descent); });
    if (!top) return pass(top);
    if (auto ended = top->wait(); !ended) return pass(ended);
    if (descent.levels == 0 && descent.error == EINVAL) {
        if (clone_in_new_namespace() >= 0)
            return fail(Fault::io, "unshare(CLONE_NEWPID) is refused, but clone(CLONE_NEWPID) succeeds");
        if (errno != EINVAL) return fail_errno(errno, "clone(CLONE_NEWPID), expected EINVAL");
        return Depth{};
    }
    if (descent.error != ENOSPC)
        return fail_errno(descent.error,
                          fmt::format("unshare(CLONE_NEWPID) at level {}, expected ENOSPC", descent.levels));
    return Depth{true, descent.levels};
}

Status outside(const std::function<Status()>& work) {
    auto process = CheckedChild::start("outside", [&]() -> Status {
        if (::unshare(CLONE_NEWPID) != 0) return fail_errno(errno, "unshare(CLONE_NEWPID)");
        return work();
    });
    if (!process) return pass(process);
    return process->wait();
}

Result<std::vector<std::int64_t>> numbers_in(const std::string& file, std::string_view key) {
    const auto text = read_text(file);
    if (!text) return fail(Fault::io, "{} cannot be read", file);
    std::vector<std::int64_t> numbers;
    for (std::string_view rest = field(*text, key); !rest.empty();) {
        const auto end = rest.find_first_of(" \t");
        const auto number = parse_integer(rest.substr(0, end));
        if (!number) return fail(Fault::io, "{} of {} is '{}'", key, file, field(*text, key));
        numbers.push_back(*number);
        rest = end == std::string_view::npos ? std::string_view() : trim(rest.substr(end));
    }
    if (numbers.empty()) return fail(Fault::io, "{} has no {}", file, key);
    return numbers;
}

Status expect_numbers(const std::string& file, std::string_view key, const std::vector<std::int64_t>& wanted) {
    const auto numbers = numbers_in(file, key);
    if (!numbers) return pass(numbers);
    if (*numbers == wanted) return {};
    return fail(Fault::io, "{} of {} is {}, expected {}", key, file, fmt::join(*numbers, " "), fmt::join(wanted, " "));
}

Status expect(std::string_view what, std::int64_t found, std::int64_t wanted) {
    if (found == wanted) return {};
    return fail(Fault::io, "{} is {}, expected {}", what, found, wanted);
}

}  // namespace pid_check

namespace {

constexpr const char* limit_file = "/proc/sys/user/max_pid_namespaces";
constexpr std::int64_t most_foreign_namespaces = 200;
/// How long a namespace that is on its way out may still be seen, also on a slow kernel with all its debugging.
constexpr Nanoseconds time_to_free = std::chrono::seconds(1);

/// The errno of making one more namespace, or 0. It is freed when the kernel gets round to it.
Result<int> make_one() {
    auto made = Shared<int>::make();
    if (!made) return pass(made);
    int& error = *made->operator->();
    auto process = CheckedChild::start("a namespace's maker", [&]() -> Status {
        error = ::unshare(CLONE_NEWPID) == 0 ? 0 : errno;
        return {};
    });
    if (!process) return pass(process);
    if (auto ended = process->wait(); !ended) return pass(ended);
    return error;
}

}  // namespace

namespace pid_check {

Status wait_until_freed(std::int64_t limit, Nanoseconds patience) {
    auto owned = Setting::take(limit_file);
    if (!owned) return pass(owned);
    if (auto set = owned->set(limit); !set) return set;
    const std::int64_t deadline_ns = raw_clock_ns() + patience.count();
    for (;;) {
        const auto error = make_one();
        if (!error) return pass(error);
        if (*error == 0) return owned->restore();
        if (*error != ENOSPC) return fail_errno(*error, "unshare(CLONE_NEWPID)");
        if (raw_clock_ns() >= deadline_ns)
            return fail(Fault::timeout, "the kernel has not freed the PID namespaces that were left");
        const timespec step{0, 1000000};  // no event tells that a namespace is freed
        ::nanosleep(&step, nullptr);
    }
}

Result<std::int64_t> lowest_limit() {
    for (std::int64_t limit = 1; limit <= most_foreign_namespaces; ++limit) {
        auto freed = wait_until_freed(limit, time_to_free);
        if (freed) return limit;
        if (freed.error().fault != Fault::timeout) return pass(freed);
    }
    return fail(Fault::infra, "more than {} PID namespaces exist before the check", most_foreign_namespaces);
}

}  // namespace pid_check

namespace {

/// A namespace with one process that has come and gone.
Status make_and_leave() {
    return pid_check::outside([]() -> Status {
        auto first =
            CheckedChild::start("process 1", []() -> Status { return pid_check::expect("getpid()", ::getpid(), 1); });
        return first ? first->wait() : pass(first);
    });
}

/// Whether this machine is the agent's own: process 1 is the agent, too, whose work is done in a child (init.h).
bool is_own_machine() {
    std::error_code no_first, no_own;
    const auto first = fs::read_symlink("/proc/1/exe", no_first), own = fs::read_symlink("/proc/self/exe", no_own);
    return !no_first && !no_own && ::getppid() == 1 && first == own;
}

class PidCheck final : public Workload {
  public:
    /// The namespaces of others are counted before there are any of the check's own, which could be left.
    Status prepare(const RunContext&) override {
        lowest_limit_ = 0;
        if (!is_own_machine()) return {};  // where the limit is everybody's
        const auto error = make_one();
        if (!error) return pass(error);
        if (*error == EINVAL || *error == ENOSPC) return {};  // no nesting on this kernel, which find_depth() looks at
        if (*error != 0) return fail_errno(*error, "unshare(CLONE_NEWPID)");
        const auto lowest = pid_check::lowest_limit();
        if (!lowest) return pass(lowest);
        lowest_limit_ = *lowest;
        return {};
    }

    Result<std::vector<msg::Sample>> run(const RunContext& context, Meter& meter) override {
        if (auto started = meter.start(); !started) return pass(started);
        if (auto good = check(context); !good) return pass(good);
        if (auto stopped = meter.stop(); !stopped) return pass(stopped);
        return std::vector<msg::Sample>();
    }

    Result<std::vector<msg::Sample>> drain(const RunContext& context, const Meter&) override {
        if (lowest_limit_ > 0)
            if (auto freed = pid_check::wait_until_freed(lowest_limit_, context.drain_limit); !freed)
                return pass(freed);
        return std::vector<msg::Sample>();
    }

  private:
    Status check(const RunContext& context) {
        const auto depth = pid_check::find_depth();
        if (!depth) return pass(depth);
        if (auto wanted = check_depth(*depth); !wanted) return wanted;
        if (depth->levels == 0) return check_machine(false);
        if (is_own_machine() && lowest_limit_ == 0)
            return fail(Fault::io, "PID namespaces nest {} levels deep, but at first none could be made",
                        depth->levels);
        for (const auto part :
             {pid_check::check_numbers, pid_check::check_signals, pid_check::check_orphans, pid_check::check_set_tid})
            if (auto good = part(); !good) return good;
        if (auto good = pid_check::check_the_end(context.parameter("processes")); !good) return good;
        for (std::int64_t i = 0; i < context.parameter("rounds"); ++i)
            if (auto good = make_and_leave(); !good) return good;
        return check_machine(true);
    }

    /// What would disturb others on a machine that is not the agent's own, or be disturbed by them.
    static Status check_machine(bool nested) {
        if (!is_own_machine()) return {};
        if (auto good = pid_check::check_reuse(numbers_to_reuse, nested); !good) return good;
        say(fmt::format("pid-check: {} numbers reused", numbers_to_reuse));
        return pid_check::check_memory(nested);
    }

    /// What is found goes to the console, too, which is kept.
    static Status check_depth(const pid_check::Depth& depth) {
        const int levels = depth.supported ? depth.levels + 1 : 0;
        say(depth.supported ? fmt::format("pid-check: {} levels of PID namespaces, the initial one included", levels)
                            : std::string("pid-check: no PID namespaces"));
        const auto command_line = read_text("/proc/cmdline").value_or("");
        const auto wanted = parse_integer(command_line_value(command_line, "kab.pid_levels"));
        return wanted ? pid_check::expect("levels of PID namespaces", levels, *wanted) : Status{};
    }

    static constexpr std::int64_t numbers_to_reuse = 64;
    std::int64_t lowest_limit_ = 0;  ///< 0: there are no nested namespaces, or the limit is not ours to set
};

}  // namespace

std::unique_ptr<Workload> make_pid_check() {
    return std::make_unique<PidCheck>();
}

}  // namespace kab::guest
