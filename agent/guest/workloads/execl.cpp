#include "agent/guest/workloads/execl.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "agent/guest/shared_memory.h"
#include "agent/guest/text.h"
#include "agent/guest/workloads/unixbench.h"
#include "common/files.h"

namespace kab::guest {
namespace {

/// What an image is called: no program that somebody starts has this as its name.
constexpr const char* image_name = "kab-execl-image";
/// Of an image that was called with nonsense or could not tell how it went.
constexpr int exit_unheard = 2;

/// What the last image writes to the pipe.
struct Ending {
    std::int64_t stopped_ns = 0;
    std::int64_t left = 0;  ///< calls that were not made
    int error = 0;          ///< of execl
};

/// Returns only in failure.
int execute(const char* program, std::int64_t left, int pipe) {
    const auto calls = std::to_string(left);
    const auto descriptor = std::to_string(pipe);
    ::execl(program, image_name, program, calls.c_str(), descriptor.c_str(), nullptr);
    return errno;
}

bool tell(int pipe, const Ending& ending) {
    return ::write(pipe, &ending, sizeof ending) == static_cast<ssize_t>(sizeof ending);
}

/// The process whose program is replaced. The clock starts in it, so that the fork is not in the time.
int first_image(const std::string& program, std::int64_t loops, int pipe, std::int64_t& started_ns) {
    started_ns = raw_clock_ns();
    const int error = execute(program.c_str(), loops - 1, pipe);
    return tell(pipe, Ending{0, loops, error}) ? 1 : exit_unheard;
}

Result<WorkTimes> execl_in_a_loop(const std::string& program, std::int64_t loops, std::int64_t& started_ns) {
    int ends[2];
    if (::pipe(ends) != 0) return fail_errno(errno, "pipe of the images");  // inherited: not close-on-exec
    UniqueFd hear(ends[0]), told(ends[1]);
    const auto child =
        fork_child("the first image", [&] { return first_image(program, loops, told.get(), started_ns); });
    if (!child) return pass(child);
    told.reset();
    Ending ending;
    ssize_t got = 0;
    do {
        got = ::read(hear.get(), &ending, sizeof ending);
    } while (got < 0 && errno == EINTR);
    const int read_error = errno;
    auto ended = reap(*child, "an image");
    if (got < 0) return fail_errno(read_error, "read of the images' pipe");
    if (got != static_cast<ssize_t>(sizeof ending))
        return ended ? fail(Fault::io, "an image ended without a word") : pass(ended);
    if (ending.error != 0)
        return fail_errno(ending.error,
                          fmt::format("execl of {}, call {} of {}", program, loops - ending.left + 1, loops));
    if (!ended) return pass(ended);
    WorkTimes times;
    times.started_ns = started_ns;
    times.stopped_ns = ending.stopped_ns;
    return times;
}

class Execl final : public Workload {
  public:
    explicit Execl(std::string program) : program_(std::move(program)) {}

    Status prepare(const RunContext&) override {
        std::error_code error;
        auto found = fs::canonical(program_, error);
        if (error) return fail_errno(error.value(), "find " + program_);
        program_ = found.string();
        return {};
    }

    Result<std::vector<msg::Sample>> run(const RunContext& context, Meter& meter) override {
        const auto loops = context.parameter("loops");
        auto started_ns = Shared<std::int64_t>::make();
        if (!started_ns) return pass(started_ns);
        Work work;
        work.work = [&] { return execl_in_a_loop(program_, loops, *started_ns->operator->()); };
        const auto times = run_in_worker(work, context.parameter("nested") == 1, meter);
        if (!times) return pass(times);
        return unixbench_samples(loops, *times, execl_baseline);
    }

    Result<std::vector<msg::Sample>> drain(const RunContext&, const Meter&) override {
        return std::vector<msg::Sample>{};  // the images are one process, which is reaped: nothing is left
    }

  private:
    std::string program_;  ///< without links from prepare() on: /proc/self/exe would cost each call a look-up by pid
};

}  // namespace

std::unique_ptr<Workload> make_execl_of(std::string program) {
    return std::make_unique<Execl>(std::move(program));
}

std::unique_ptr<Workload> make_execl() {
    return make_execl_of("/proc/self/exe");
}

bool is_execl(int count, char** arguments) {
    return count > 0 && std::string_view(arguments[0]) == image_name;
}

int execl_main(int count, char** arguments) {
    const std::int64_t now_ns = raw_clock_ns();
    if (count != 4) return exit_unheard;
    const auto left = parse_integer(arguments[2]), pipe = parse_integer(arguments[3]);
    if (!left || !pipe) return exit_unheard;
    const int descriptor = static_cast<int>(*pipe);
    if (*left == 0) return tell(descriptor, Ending{now_ns, 0, 0}) ? 0 : exit_unheard;
    const int error = execute(arguments[1], *left - 1, descriptor);
    return tell(descriptor, Ending{0, *left, error}) ? 1 : exit_unheard;
}

}  // namespace kab::guest
