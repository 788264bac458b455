#include "agent/guest/workloads/ps.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <set>

#include "agent/guest/text.h"
#include "agent/guest/workloads/bench_worker.h"

namespace kab::guest {
namespace {

/// What ps(1) reads of a process.
constexpr const char* files[] = {"stat", "status", "cmdline"};

[[noreturn]] void sleep_until_killed() {
    // With the process that lists goes all that it listed.
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) ::_exit(1);
    for (;;) ::pause();
}

/// The processes that are listed; children of the worker.
class Sleepers {
  public:
    Status start(std::int64_t count) {
        for (std::int64_t i = 1; i <= count; ++i) {
            const pid_t pid = ::fork();
            if (pid == 0) sleep_until_killed();
            if (pid < 0) return fail_errno(errno, fmt::format("fork of process {} of {}", i, count));
            pids_.insert(pid);
        }
        return {};
    }

    Status end() {
        for (const pid_t pid : pids_)
            if (::kill(pid, SIGKILL) != 0) return fail_errno(errno, fmt::format("kill of process {}", pid));
        for (const pid_t pid : pids_) {
            int status = 0;
            if (::waitpid(pid, &status, 0) != pid) return fail_errno(errno, fmt::format("wait for process {}", pid));
            if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
                return fail(Fault::io, "process {} ended by itself, with wait status {}", pid, status);
        }
        return {};
    }

    const std::set<pid_t>& pids() const { return pids_; }

  private:
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
    if (times.system_ns <= 0)
        return fail(Fault::usage, "the listings took no CPU time that the kernel could see: raise 'loops'");
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
        return std::vector{sample("system-time", static_cast<double>(times->system_ns)),
                           sample("elapsed", static_cast<double>(times->elapsed_ns()))};
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
