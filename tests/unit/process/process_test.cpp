// What run_process, ChildProcess and kab-supervise promise, tried on real processes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <thread>

#include "common/files.h"
#include "common/process/child.h"
#include "common/process/run.h"

namespace kab {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

class ProcessTest : public testing::Test {
  protected:
    void SetUp() override {
        ::setenv("KAB_LIBEXEC_DIR", KAB_BINARY_DIR "/bin", 1);
        auto made = TempDir::make("kab-process-test-");
        ASSERT_TRUE(made) << made.error().text();
        directory_ = std::make_unique<TempDir>(std::move(*made));
    }
    static ProcessSpec shell(const std::string& script) {
        ProcessSpec spec;
        spec.program = "/bin/sh";
        spec.args = {"-c", script};
        return spec;
    }
    fs::path make_fifo(const std::string& name) const {
        const auto path = directory_->path() / name;
        EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
        return path;
    }
    std::unique_ptr<TempDir> directory_;
};

/// A fifo that processes hold open for writing: reading it to its end waits for the last of them to die.
class Witness {
  public:
    explicit Witness(const fs::path& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
    /// Blocks until `count` lines have come.
    void await_lines(int count) {
        while (count > 0) {
            char c = 0;
            ASSERT_EQ(::read(fd_.get(), &c, 1), 1) << "the processes died before saying hello";
            count -= c == '\n' ? 1 : 0;
        }
    }
    /// Blocks until nobody holds it any more (the test's own timeout is the deadline).
    void await_death() {
        char c = 0;
        while (::read(fd_.get(), &c, 1) > 0) {
        }
    }
    /// Nobody holds it, without waiting.
    bool is_dead_now() {
        if (::fcntl(fd_.get(), F_SETFL, O_NONBLOCK) != 0) return false;
        char c = 0;
        return ::read(fd_.get(), &c, 1) == 0;
    }

  private:
    UniqueFd fd_;
};

/// A command that leaves the session and the parentage of its starter, says hello and stays;
/// then the starter itself says hello and stays.
std::string script_with_daemon(const fs::path& fifo) {
    return "exec 7>" + fifo.string() +
           "; (setsid sh -c '(trap \"\" TERM HUP INT; echo daemon >&7; exec sleep 1000) &' ) ; echo starter >&7; "
           "exec sleep 1000";
}

TEST_F(ProcessTest, exit_codes_and_signals_are_told_apart) {
    for (const bool supervised : {true, false}) {
        for (const auto& [script, expected] :
             std::vector<std::pair<std::string, ExitStatus>>{{"exit 0", {0, 0}},
                                                             {"exit 9", {9, 0}},
                                                             {"exit 137", {137, 0}},
                                                             {"exit 255", {255, 0}},
                                                             {"kill -KILL $$", {0, SIGKILL}},
                                                             {"kill -TERM $$", {0, SIGTERM}},
                                                             {"kill -SEGV $$", {0, SIGSEGV}}}) {
            auto spec = shell(script);
            spec.supervised = supervised;
            const auto done = run_process(spec);
            ASSERT_TRUE(done) << done.error().text();
            EXPECT_EQ(done->status, expected) << script << ": " << to_string(done->status);
        }
    }
}

TEST_F(ProcessTest, missing_programs_are_named) {
    ProcessSpec spec;
    spec.program = "kab-no-such-program";
    auto done = run_process(spec);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().fault, Fault::not_found);
    EXPECT_EQ(done.error().message, "cannot run kab-no-such-program: not found in PATH");
    spec.program = "/etc/passwd";
    done = run_process(spec);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().message, "cannot run /etc/passwd: not an executable file");
}

TEST_F(ProcessTest, exec_failures_are_errors_and_not_copies_of_the_parent) {
    const auto path = directory_->path() / "not-a-program";
    ASSERT_TRUE(write_file(path,
                           "\x7f"
                           "ELF but not really"));
    ASSERT_EQ(::chmod(path.c_str(), 0755), 0);
    ProcessSpec spec;
    spec.program = path.string();
    spec.supervised = false;
    auto done = run_process(spec);
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().message.find("Exec format error"), std::string::npos) << done.error().text();
    spec.supervised = true;
    done = run_process(spec);
    ASSERT_TRUE(done);
    EXPECT_EQ(done->status, (ExitStatus{126, 0}));
    EXPECT_EQ(done->err, "kab-supervise: cannot run " + path.string() + ": Exec format error\n");
    spec = shell("true");
    spec.working_directory = directory_->path() / "nowhere";
    EXPECT_FALSE(run_process(spec));
}

TEST_F(ProcessTest, output_comes_whole_and_by_lines) {
    std::size_t lines = 0;
    std::size_t bytes = 0;
    RunOptions options;
    options.capture_bytes = 32U << 20;
    options.on_stdout_line = [&](std::string_view line) {
        ++lines;
        bytes += line.size() + 1;
    };
    const auto done = run_process(shell("yes 0123456789 | head -c 10485760"), options);
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(done->out.size(), 10485760U);
    EXPECT_FALSE(done->truncated);
    EXPECT_EQ(lines, (10485760U + 10) / 11);
    EXPECT_GE(bytes, 10485760U);
    EXPECT_GT(done->elapsed, 0ns);
}

TEST_F(ProcessTest, captured_output_is_bounded) {
    RunOptions options;
    options.capture_bytes = 1000;
    const auto done = run_process(shell("echo first; yes | head -c 1000000; echo last"), options);
    ASSERT_TRUE(done);
    EXPECT_TRUE(done->truncated);
    EXPECT_LT(done->out.size(), 1100U);
    EXPECT_EQ(done->out.substr(0, 6), "first\n");
    EXPECT_EQ(done->out.substr(done->out.size() - 5), "last\n");
    EXPECT_NE(done->out.find("[... 999011 bytes left out ...]"), std::string::npos) << done->out;
}

TEST_F(ProcessTest, stdin_environment_directory_and_streams) {
    auto spec = shell("cat; echo $KAB_TEST_WORD; pwd; echo oops >&2");
    spec.in = ProcessSpec::Input::pipe;
    spec.environment = {{"KAB_TEST_WORD", "word"}};
    spec.working_directory = directory_->path();
    RunOptions options;
    options.input = "given\n";
    auto done = run_process(spec, options);
    ASSERT_TRUE(done);
    EXPECT_EQ(done->out, "given\nword\n" + fs::canonical(directory_->path()).string() + "\n");
    EXPECT_EQ(done->err, "oops\n");
    spec = shell("echo a; echo b >&2; echo c");
    spec.err = Output::same_as_stdout();
    done = run_process(spec);
    ASSERT_TRUE(done);
    EXPECT_EQ(done->out, "a\nb\nc\n");
}

TEST_F(ProcessTest, children_get_no_other_descriptors) {
    const UniqueFd lock(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    for (const bool supervised : {true, false}) {
        auto spec = shell("ls -l /proc/self/fd | grep -c ' -> '");
        spec.supervised = supervised;
        const auto done = run_process(spec);
        ASSERT_TRUE(done);
        EXPECT_EQ(done->out, "4\n") << "0, 1, 2 and that of ls itself";
    }
}

TEST_F(ProcessTest, run_checked_tells_the_last_line) {
    const auto done = run_checked(shell("echo context >&2; echo 'fatal: no such thing' >&2; exit 3"));
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().message, "sh -c: exit code 3: fatal: no such thing");
}

TEST_F(ProcessTest, a_deadline_kills_daemons_too) {
    const auto fifo = make_fifo("witness");
    Result<RunOutput> done;
    std::thread runner([&] {
        RunOptions options;
        options.limit = 1s;
        done = run_process(shell(script_with_daemon(fifo)), options);
    });
    Witness witness(fifo);
    witness.await_death();
    runner.join();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().fault, Fault::timeout);
}

TEST_F(ProcessTest, daemons_die_when_the_command_ends) {
    const auto fifo = make_fifo("witness");
    const auto script = "exec 7>" + fifo.string() + "; setsid sh -c '(exec sleep 1000) &'; exit 5";
    Result<RunOutput> done;
    std::thread runner([&] { done = run_process(shell(script)); });
    Witness(fifo).await_death();
    runner.join();
    ASSERT_TRUE(done);
    EXPECT_EQ(done->status.code, 5);
}

TEST_F(ProcessTest, everything_dies_when_the_parent_is_killed) {
    const auto fifo = make_fifo("witness");
    const pid_t parent = ::fork();
    ASSERT_GE(parent, 0);
    if (parent == 0) {
        (void)run_process(shell(script_with_daemon(fifo)));
        ::_exit(0);
    }
    Witness witness(fifo);
    witness.await_lines(2);
    ASSERT_EQ(::kill(parent, SIGKILL), 0);
    witness.await_death();
    ASSERT_EQ(::waitpid(parent, nullptr, 0), parent);
}

TEST_F(ProcessTest, a_held_lock_outlives_its_owner_until_all_has_ended) {
    const auto fifo = make_fifo("witness");
    const auto lock = directory_->path() / "lock";
    const pid_t parent = ::fork();
    ASSERT_GE(parent, 0);
    if (parent == 0) {
        const UniqueFd held(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
        if (::flock(held.get(), LOCK_EX) != 0) ::_exit(1);
        auto spec = shell(script_with_daemon(fifo));
        spec.held = held.get();
        (void)run_process(spec);
        ::_exit(0);
    }
    Witness witness(fifo);
    witness.await_lines(2);
    ASSERT_EQ(::kill(parent, SIGKILL), 0);
    ASSERT_TRUE(FileLock::take(lock));
    EXPECT_TRUE(witness.is_dead_now());
    ASSERT_EQ(::waitpid(parent, nullptr, 0), parent);
}

TEST_F(ProcessTest, a_held_lock_is_not_the_commands) {
    const UniqueFd held(::open((directory_->path() / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    auto spec = shell("ls -l /proc/self/fd | grep -c ' -> '");
    spec.held = held.get();
    const auto done = run_process(spec);
    ASSERT_TRUE(done);
    EXPECT_EQ(done->out, "4\n");
}

TEST_F(ProcessTest, the_command_dies_with_its_supervisor) {
    const auto fifo = make_fifo("witness");
    asio::io_context context(1);
    auto child = ChildProcess::start(context.get_executor(),
                                     shell("exec 7>" + fifo.string() + "; echo hello >&7; exec sleep 1000"));
    ASSERT_TRUE(child) << child.error().text();
    Witness witness(fifo);
    witness.await_lines(1);
    ASSERT_EQ(::kill((*child)->pid(), SIGKILL), 0);
    witness.await_death();
}

TEST_F(ProcessTest, destroying_a_child_leaves_nothing) {
    const auto fifo = make_fifo("witness");
    asio::io_context context(1);
    auto child = ChildProcess::start(context.get_executor(), shell(script_with_daemon(fifo)));
    ASSERT_TRUE(child) << child.error().text();
    bool called = false;
    (*child)->async_wait([&](const Result<ExitStatus>&) { called = true; });
    Witness witness(fifo);
    witness.await_lines(2);
    const pid_t pid = (*child)->pid();
    child->reset();
    EXPECT_EQ(::kill(pid, 0), -1) << "not even a zombie";
    witness.await_death();
    context.run();
    EXPECT_FALSE(called);
}

TEST_F(ProcessTest, terminate_lets_the_command_clean_up_and_kills_what_does_not_listen) {
    const auto fifo = make_fifo("witness");
    const auto script = "exec 7>" + fifo.string() +
                        "; trap 'echo cleaned; exit 4' TERM; setsid sh -c '(trap \"\" TERM; exec sleep 1000) &'; "
                        "echo ready >&7; while :; do sleep 1000 & wait; done";
    asio::io_context context(1);
    auto spec = shell(script);
    auto child = ChildProcess::start(context.get_executor(), spec);
    ASSERT_TRUE(child) << child.error().text();
    Result<ExitStatus> status;
    (*child)->async_wait([&](Result<ExitStatus> ended) { status = std::move(ended); });
    Witness witness(fifo);
    witness.await_lines(1);
    (*child)->terminate();
    context.run();
    ASSERT_TRUE(status);
    EXPECT_EQ(*status, (ExitStatus{4, 0}));
    witness.await_death();
}

TEST_F(ProcessTest, terminate_kills_after_the_grace) {
    const auto fifo = make_fifo("witness");
    for (const bool supervised : {true, false}) {
        asio::io_context context(1);
        auto spec = shell("exec 7>" + fifo.string() + "; trap '' TERM; echo ready >&7; exec sleep 1000");
        spec.supervised = supervised;
        spec.grace = 50ms;
        auto child = ChildProcess::start(context.get_executor(), spec);
        ASSERT_TRUE(child) << child.error().text();
        Result<ExitStatus> status;
        (*child)->async_wait([&](Result<ExitStatus> ended) { status = std::move(ended); });
        Witness witness(fifo);
        witness.await_lines(1);
        (*child)->terminate();
        context.run();
        ASSERT_TRUE(status);
        EXPECT_EQ(status->signal, SIGKILL);
        witness.await_death();
    }
}

TEST_F(ProcessTest, an_unsupervised_child_talks_over_its_pipes) {
    asio::io_context context(1);
    ProcessSpec spec;
    spec.program = "cat";
    spec.supervised = false;
    spec.in = ProcessSpec::Input::pipe;
    auto child = ChildProcess::start(context.get_executor(), spec);
    ASSERT_TRUE(child) << child.error().text();
    const std::string text(1U << 20, 'x');
    std::string echoed;
    asio::async_write(*(*child)->in(), asio::buffer(text),
                      [&](const boost::system::error_code&, std::size_t) { (*child)->close_stdin(); });
    asio::async_read(*(*child)->out(), asio::dynamic_buffer(echoed),
                     [](const boost::system::error_code&, std::size_t) {});
    Result<ExitStatus> status;
    (*child)->async_wait([&](Result<ExitStatus> ended) { status = std::move(ended); });
    context.run();
    ASSERT_TRUE(status);
    EXPECT_TRUE(status->ok());
    EXPECT_EQ(echoed, text);
    EXPECT_EQ((*child)->in(), nullptr);
}

// The end of a process can be seen twice: when it exits, and (kernels from 6.9 on) when it is reaped. The second event
// may be under way in the loop when the first process is gone and its place there is taken by another.
TEST_F(ProcessTest, waiting_for_a_process_is_not_misled_by_the_end_of_an_earlier_one) {
    asio::io_context loop;
    auto spec = shell("read -r line");
    spec.in = ProcessSpec::Input::pipe;
    auto started = ChildProcess::start(loop.get_executor(), spec);
    ASSERT_TRUE(started) << started.error().text();
    std::unique_ptr<ChildProcess> first = std::move(*started), second;
    std::string order;
    asio::steady_timer timer(loop);

    int ends[2] = {-1, -1};
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    ChildProcess::Pipe signal(loop, ends[0]);
    const UniqueFd to_signal(ends[1]);
    char byte = 0, out = 0;
    asio::async_read(signal, asio::buffer(&byte, 1), [&](boost::system::error_code, std::size_t) {
        order += "signalled ";
        first.reset();
        auto next = ChildProcess::start(loop.get_executor(), spec);
        ASSERT_TRUE(next) << next.error().text();
        second = std::move(*next);
        second->async_wait([&](const Result<ExitStatus>&) { order += "ended "; });
        // Only while the loop runs does anybody close the pipe, without which the second one does not end.
        timer.expires_after(10ms);
        timer.async_wait([&](boost::system::error_code) {
            order += "looped ";
            second->close_stdin();
        });
    });
    // In the same round of the loop: the end of the output, which makes the signal ready, and then the exit.
    asio::async_read(*first->out(), asio::buffer(&out, 1),
                     [&](boost::system::error_code, std::size_t) { EXPECT_EQ(::write(to_signal.get(), "x", 1), 1); });
    first->async_wait([&](const Result<ExitStatus>&) { order += "first "; });
    first->close_stdin();
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(first->pid()), &info, WEXITED | WNOWAIT), 0);
    loop.run();
    EXPECT_EQ(order, "first signalled looped ended ");
}

TEST_F(ProcessTest, waiting_after_the_end_gives_the_status_again) {
    asio::io_context context(1);
    auto child = ChildProcess::start(context.get_executor(), shell("exit 6"));
    ASSERT_TRUE(child);
    int calls = 0;
    for (int round = 0; round < 2; ++round) {
        (*child)->async_wait([&](const Result<ExitStatus>& ended) {
            ++calls;
            EXPECT_EQ(ended->code, 6);
        });
        context.restart();
        context.run();
    }
    EXPECT_EQ(calls, 2);
    (*child)->kill();
    (*child)->terminate();
    EXPECT_EQ((*child)->status()->code, 6);
}

}  // namespace
}  // namespace kab
