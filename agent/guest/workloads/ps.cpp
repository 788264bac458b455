#include "agent/guest/workloads/ps.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <optional>
#include <set>

#include "agent/guest/text.h"
#include "agent/guest/workloads/bench_worker.h"
#include "agent/guest/workloads/task_group.h"

namespace kab::guest {
namespace {

/// What ps(1) reads of a process.
constexpr const char* files[] = {"stat", "status", "cmdline"};

/// What a sleeper does before it sleeps. With the process that lists, `parent`, goes all that it listed.
TaskResult get_ready_to_sleep(pid_t parent) {
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return TaskFailure{"prctl(PR_SET_PDEATHSIG)", errno};
    if (::getppid() != parent) return TaskFailure{"getppid: the listing process is gone", ESRCH};
    // The worker's pipes: its end is seen by them. Kernels before 5.9 lack the call, and the signal is enough.
    if (::close_range(STDERR_FILENO + 1, ~0U, 0) != 0 && errno != ENOSYS) return TaskFailure{"close_range", errno};
    return {};
}

/// The processes that are listed; children of the worker. Each is started up before the clock, and sleeps until it
/// is told to end.
class Sleepers {
  public:
    Status start(std::int64_t count) {
        auto group = TaskGroup::make(static_cast<std::uint32_t>(count), false);
        if (!group) return pass(group);
        group_.emplace(std::move(*group));
        const pid_t parent = ::getpid();
        const TaskBody body{[parent](std::uint32_t) { return get_ready_to_sleep(parent); },
                            [](std::uint32_t) { return TaskResult{}; }};
        if (auto started = group_->start(body); !started) return started;
        pids_.insert(group_->pids().begin(), group_->pids().end());
        return {};
    }

    /// None of them may have been killed.
    Status end() {
        if (auto told = group_->go(); !told) return told;
        if (auto done = group_->wait_until_done(); !done) return done;
        return group_->verdict();
    }

    const std::set<pid_t>& pids() const { return pids_; }

  private:
    std::optional<TaskGroup> group_;
    std::set<pid_t> pids_;
};

/// The /proc of the worker's own PID namespace, for the worker alone.
Status mount_own_proc() {
    if (::unshare(CLONE_NEWNS) != 0) return fail_errno(errno, "unshare(CLONE_NEWNS)");
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
        return fail_errno(errno, "make the mounts private");
    if (::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
        return fail_errno(errno, "mount the nested /proc");
    return {};
}

/// Reads a file as a whole; how many bytes that were. ESRCH and ENOENT: the process is gone.
Result<std::size_t> read_through(int directory, const std::string& path, int& gone) {
    static std::array<char, 65536> buffer;
    const int fd = ::openat(directory, path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        gone = errno;
        return 0;
    }
    if (fd < 0) return fail_errno(errno, "open /proc/" + path);
    const UniqueFd file(fd);
    std::size_t all = 0;
    for (;;) {
        const ssize_t got = ::read(fd, buffer.data(), buffer.size());
        if (got == 0) return all;
        if (got < 0 && errno == ESRCH) {
            gone = errno;
            return all;
        }
        if (got < 0) return fail_errno(errno, "read /proc/" + path);
        all += static_cast<std::size_t>(got);
    }
}

/// Reads what there is of one process. A stranger's may end meanwhile; a sleeper's may not, and has all the files.
Status look_at(int proc, const char* name, bool sleeper) {
    for (const char* file : files) {
        int gone = 0;
        const auto path = fmt::format("{}/{}", name, file);
        const auto bytes = read_through(proc, path, gone);
        if (!bytes) return pass(bytes);
        if (!sleeper && gone != 0) return {};
        if (gone != 0) return fail_errno(gone, "/proc/" + path + " of a sleeping process");
        if (sleeper && *bytes == 0) return fail(Fault::io, "/proc/{} of a sleeping process is empty", path);
    }
    return {};
}

Status list_once(const std::set<pid_t>& sleepers) {
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc"), ::closedir);
    if (!directory) return fail_errno(errno, "open /proc");
    std::size_t seen = 0;
    for (;;) {
        errno = 0;
        const dirent* entry = ::readdir(directory.get());
        if (entry == nullptr) break;
        const auto pid = parse_integer(entry->d_name);
        if (!pid) continue;
        const bool sleeper = sleepers.contains(static_cast<pid_t>(*pid));
        if (auto looked = look_at(::dirfd(directory.get()), entry->d_name, sleeper); !looked) return looked;
        if (sleeper) ++seen;
    }
    if (errno != 0) return fail_errno(errno, "list /proc");
    if (seen != sleepers.size())
        return fail(Fault::io, "a listing of /proc has {} of the {} sleeping processes", seen, sleepers.size());
    return {};
}

Result<std::int64_t> system_time_ns() {
    rusage usage{};
    if (::getrusage(RUSAGE_SELF, &usage) != 0) return fail_errno(errno, "getrusage");
    return usage.ru_stime.tv_sec * 1000000000LL + usage.ru_stime.tv_usec * 1000LL;
}

/// The kernel tells user from kernel time by what it finds at its ticks.
Result<msg::Sample> system_time(const WorkTimes& times, bool exact) {
    if (exact)
        return msg::Sample{
            "system-time",
            std::nullopt,
            "exact mode: the kernel splits CPU time by its ticks, which come at the same instructions in "
            "every run; 'busy' is exact",
            {},
            {}};
    if (times.system_ns <= 0)
        return fail(Fault::usage, "the listings took no CPU time that the kernel could see: raise 'loops'");
    return sample("system-time", static_cast<double>(times.system_ns));
}

Result<WorkTimes> list_in_a_loop(const std::set<pid_t>& sleepers, std::int64_t loops) {
    WorkTimes times;
    const auto before_ns = system_time_ns();
    if (!before_ns) return pass(before_ns);
    times.started_ns = raw_clock_ns();
    for (std::int64_t i = 0; i < loops; ++i)
        if (auto listed = list_once(sleepers); !listed) return pass(listed);
    times.stopped_ns = raw_clock_ns();
    const auto after_ns = system_time_ns();
    if (!after_ns) return pass(after_ns);
    times.system_ns = *after_ns - *before_ns;
    return times;
}

class Ps final : public Workload {
  public:
    Status prepare(const RunContext&) override { return {}; }

    Result<std::vector<msg::Sample>> run(const RunContext& context, Meter& meter) override {
        const auto processes = context.parameter("processes"), loops = context.parameter("loops");
        const bool nested = context.parameter("nested") == 1;
        Sleepers sleepers;
        Work work;
        work.get_ready = [&] {
            if (nested)
                if (auto mounted = mount_own_proc(); !mounted) return mounted;
            return sleepers.start(processes);
        };
        work.work = [&] { return list_in_a_loop(sleepers.pids(), loops); };
        work.clean_up = [&] { return sleepers.end(); };
        const auto times = run_in_worker(work, nested, meter);
        if (!times) return pass(times);
        auto in_kernel = system_time(*times, context.exact);
        if (!in_kernel) return pass(in_kernel);
        return std::vector{std::move(*in_kernel), sample("elapsed", static_cast<double>(times->elapsed_ns()))};
    }

    Result<std::vector<msg::Sample>> drain(const RunContext&, const Meter&) override {
        return std::vector<msg::Sample>{};  // every process is reaped: nothing is left
    }
};

}  // namespace

std::unique_ptr<Workload> make_ps() {
    return std::make_unique<Ps>();
}

}  // namespace kab::guest
