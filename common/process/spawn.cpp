#include "common/process/spawn.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <map>

#include "common/paths.h"

namespace kab {
namespace {

constexpr int first_free_fd = 4;  ///< below it the child's descriptors are put together

struct PipeEnds {
    UniqueFd read, write;
};

/// Both ends close-on-exec and out of the way of the child's stdio.
Result<PipeEnds> make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) < 0) return fail_errno(errno, "pipe");
    PipeEnds result{UniqueFd(ends[0]), UniqueFd(ends[1])};
    for (UniqueFd* end : {&result.read, &result.write}) {
        if (end->get() >= first_free_fd) continue;
        const int moved = ::fcntl(end->get(), F_DUPFD_CLOEXEC, first_free_fd);
        if (moved < 0) return fail_errno(errno, "duplicate a pipe");
        end->reset(moved);
    }
    return result;
}

Status make_nonblocking(const UniqueFd& fd) {
    const int flags = ::fcntl(fd.get(), F_GETFL);
    if (flags < 0 || ::fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK) < 0) return fail_errno(errno, "fcntl(O_NONBLOCK)");
    return {};
}

/// Everything the child needs between fork and exec, made before the fork.
struct Plan {
    std::vector<std::string> words, variables;
    std::vector<char*> argv, envp;
    std::string working_directory;
    int nice = 0;
    UniqueFd null, held;
    UniqueFd child_in, child_out, child_err, child_lifeline;  ///< the child's ends of pipes, copies of descriptors
    int in = -1, out = -1, err = -1, lifeline = -1;           ///< what becomes 0, 1, 2, 3
};

std::vector<char*> pointers(std::vector<std::string>& strings) {
    std::vector<char*> result;
    for (auto& text : strings) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

std::vector<std::string> make_environment(const ProcessSpec& spec) {
    std::map<std::string, std::string> variables;
    for (char** entry = spec.clear_environment ? nullptr : ::environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const auto equals = text.find('=');
        if (equals != std::string_view::npos) variables[std::string(text.substr(0, equals))] = text.substr(equals + 1);
    }
    for (const auto& [name, value] : spec.environment) variables[name] = value;
    std::vector<std::string> result;
    for (const auto& [name, value] : variables) result.push_back(name + "=" + value);
    return result;
}

Status make_words(const ProcessSpec& spec, Plan& plan) {
    auto program = find_executable(spec.program);
    if (!program) return pass(program);
    // A relative program is meant relative to us, not to the working directory.
    std::string path = spec.working_directory.empty() ? program->string() : fs::absolute(*program).string();
    if (spec.supervised) {
        auto supervisor = find_program("kab-supervise");
        if (!supervisor) return pass(supervisor);
        const auto grace = std::chrono::duration_cast<std::chrono::milliseconds>(spec.grace).count();
        plan.words = {supervisor->string(), "--grace", std::to_string(grace)};
        // With a pipe for the command's own stdin the lifeline moves to descriptor 3.
        if (spec.in == ProcessSpec::Input::pipe) plan.words.insert(plan.words.end(), {"--lifeline", "3"});
        plan.words.push_back("--");
    }
    plan.words.push_back(std::move(path));
    plan.words.insert(plan.words.end(), spec.args.begin(), spec.args.end());
    plan.variables = make_environment(spec);
    plan.working_directory = spec.working_directory.string();
    plan.nice = spec.nice;
    plan.argv = pointers(plan.words);
    plan.envp = pointers(plan.variables);
    return {};
}

Status make_input(const ProcessSpec& spec, Plan& plan, Spawned& ours) {
    plan.in = plan.null.get();
    if (spec.in == ProcessSpec::Input::pipe) {
        auto ends = make_pipe();
        if (!ends) return pass(ends);
        plan.child_in = std::move(ends->read);
        plan.in = plan.child_in.get();
        ours.in = std::move(ends->write);
        if (auto status = make_nonblocking(ours.in); !status) return status;
    }
    if (spec.supervised) {
        auto ends = make_pipe();
        if (!ends) return pass(ends);
        plan.child_lifeline = std::move(ends->read);
        ours.lifeline = std::move(ends->write);
        (spec.in == ProcessSpec::Input::pipe ? plan.lifeline : plan.in) = plan.child_lifeline.get();
    }
    return {};
}

Status make_output(const Output& output, int standard, int stdout_of_child, UniqueFd& child_end, UniqueFd& our_end,
                   int null, int& result) {
    switch (output.kind) {
        case Output::Kind::pipe: {
            auto ends = make_pipe();
            if (!ends) return pass(ends);
            child_end = std::move(ends->write);
            our_end = std::move(ends->read);
            result = child_end.get();
            return make_nonblocking(our_end);
        }
        case Output::Kind::null: result = null; return {};
        case Output::Kind::same_as_stdout: result = stdout_of_child; return {};
        case Output::Kind::inherit:
        case Output::Kind::descriptor: {
            const int source = output.kind == Output::Kind::inherit ? standard : output.fd;
            const int copy = ::fcntl(source, F_DUPFD_CLOEXEC, first_free_fd);
            if (copy < 0) return fail_errno(errno, fmt::format("duplicate descriptor {}", source));
            child_end.reset(copy);
            result = copy;
            return {};
        }
    }
    return fail(Fault::internal, "unknown kind of output");
}

/// In the child: async-signal-safe calls only. Reports errno through `report`; never returns.
[[noreturn]] void run_child(const Plan& plan, int report) {
    ::setpgid(0, 0);
    if (plan.nice != 0 && ::nice(plan.nice) == -1) errno = 0;  // -1 may be the new value, too
    const bool connected = ::dup2(plan.in, 0) >= 0 && ::dup2(plan.out, 1) >= 0 && ::dup2(plan.err, 2) >= 0 &&
                           (plan.lifeline < 0 || ::dup2(plan.lifeline, 3) >= 0);
    const bool placed = plan.working_directory.empty() || ::chdir(plan.working_directory.c_str()) == 0;
    if (connected && placed) {
        // What others (or whoever started us) forgot to open close-on-exec stays here.
        const unsigned first = plan.lifeline < 0 ? 3 : 4;
        ::close_range(first, ~0U, CLOSE_RANGE_CLOEXEC);
        if (plan.held) ::fcntl(plan.held.get(), F_SETFD, 0);
        // Handlers are reset by exec; what is ignored would stay ignored.
        for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD}) ::signal(number, SIG_DFL);
        sigset_t none;
        ::sigemptyset(&none);
        ::sigprocmask(SIG_SETMASK, &none, nullptr);
        ::execve(plan.argv[0], plan.argv.data(), plan.envp.data());
    }
    const int error = errno;
    if (::write(report, &error, sizeof error) < 0) ::_exit(126);
    ::_exit(127);
}

/// 0 when exec succeeded (the pipe closed), else the child's errno.
int read_report(int fd) {
    int error = 0;
    for (;;) {
        const ssize_t got = ::read(fd, &error, sizeof error);
        if (got < 0 && errno == EINTR) continue;
        return got == static_cast<ssize_t>(sizeof error) ? error : 0;
    }
}

}  // namespace

Result<Spawned> spawn(const ProcessSpec& spec) {
    Plan plan;
    Spawned ours;
    auto null = open_file("/dev/null", O_RDWR);
    if (!null) return pass(null);
    plan.null.reset(::fcntl(null->get(), F_DUPFD_CLOEXEC, first_free_fd));
    if (!plan.null) return fail_errno(errno, "duplicate /dev/null");
    if (spec.supervised && spec.held >= 0) {
        plan.held.reset(::fcntl(spec.held, F_DUPFD_CLOEXEC, first_free_fd));
        if (!plan.held) return fail_errno(errno, fmt::format("duplicate descriptor {}", spec.held));
    }
    if (auto status = make_words(spec, plan); !status) return pass(status);
    if (auto status = make_input(spec, plan, ours); !status) return pass(status);
    for (const bool error_stream : {false, true}) {
        auto status = error_stream ? make_output(spec.err, STDERR_FILENO, plan.out, plan.child_err, ours.err,
                                                 plan.null.get(), plan.err)
                                   : make_output(spec.out, STDOUT_FILENO, STDOUT_FILENO, plan.child_out, ours.out,
                                                 plan.null.get(), plan.out);
        if (!status) return pass(status);
    }
    auto report = make_pipe();
    if (!report) return pass(report);

    ours.pid = ::fork();
    if (ours.pid < 0) return fail_errno(errno, fmt::format("fork for {}", spec.program));
    if (ours.pid == 0) run_child(plan, report->write.get());
    ::setpgid(ours.pid, ours.pid);  // whichever of the two comes first; fails harmlessly after exec
    report->write.reset();
    if (const int error = read_report(report->read.get()); error != 0) {
        while (::waitpid(ours.pid, nullptr, 0) < 0 && errno == EINTR) {
        }
        const std::string place = plan.working_directory.empty() ? "" : " in " + plan.working_directory;
        auto failure = fail_errno(error, fmt::format("run {}{}", plan.words[0], place));
        return failure;
    }
    return ours;
}

}  // namespace kab
