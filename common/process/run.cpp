#include "common/process/run.h"

#include <sys/resource.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "common/process/capture.h"
#include "common/process/child.h"

namespace kab {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

namespace {

/// Reads one pipe to its end.
class Drain {
  public:
    Drain(ChildProcess::Pipe* pipe, std::size_t capture_bytes, const LineHandler& on_line)
        : pipe_(pipe), capture_(capture_bytes), on_line_(on_line) {
        if (pipe_ != nullptr) read();
    }
    const Capture& capture() const { return capture_; }

  private:
    void read() {
        pipe_->async_read_some(asio::buffer(buffer_), [this](ErrorCode error, std::size_t got) {
            const std::string_view bytes(buffer_.data(), got);
            capture_.push(bytes);
            if (on_line_) lines_.push(bytes, on_line_);
            if (!error) return read();
            if (on_line_) lines_.finish(on_line_);
        });
    }

    ChildProcess::Pipe* pipe_;
    Capture capture_;
    const LineHandler& on_line_;
    LineSplitter lines_;
    std::array<char, 64U << 10> buffer_;
};

Nanoseconds children_cpu() {
    rusage usage{};
    ::getrusage(RUSAGE_CHILDREN, &usage);
    const auto nanoseconds = [](const timeval& time) {
        return Nanoseconds(time.tv_sec * 1'000'000'000LL + time.tv_usec * 1000LL);
    };
    return nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime);
}

std::string last_line(const std::string& text) {
    const auto end = text.find_last_not_of(" \t\r\n");
    if (end == std::string::npos) return {};
    const auto begin = text.find_last_of('\n', end);
    return text.substr(begin == std::string::npos ? 0 : begin + 1,
                       end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

}  // namespace

Result<RunOutput> run_process(const ProcessSpec& spec, const RunOptions& options) {
    const auto started = std::chrono::steady_clock::now();
    const Nanoseconds cpu_before = children_cpu();
    asio::io_context context(1);
    asio::steady_timer limit(context);
    auto child = ChildProcess::start(context.get_executor(), spec);
    if (!child) return pass(child);
    ChildProcess& process = **child;

    Result<ExitStatus> ended = fail(Fault::internal, "{} was not waited for", spec.program);
    bool timed_out = false;
    process.async_wait([&](Result<ExitStatus> status) {
        ended = std::move(status);
        limit.cancel();
    });
    if (options.limit > Nanoseconds(0)) {
        limit.expires_after(options.limit);
        limit.async_wait([&](ErrorCode error) {
            if (error) return;
            timed_out = true;
            process.kill();
        });
    }
    if (process.in() != nullptr) {
        // A program may end without reading its input: that is not an error here.
        asio::async_write(*process.in(), asio::buffer(options.input),
                          [&](ErrorCode, std::size_t) { process.close_stdin(); });
    }
    const Drain out(process.out(), options.capture_bytes, options.on_stdout_line);
    const Drain err(process.err(), options.capture_bytes, options.on_stderr_line);
    try {
        context.run();
    } catch (const std::exception& e) {
        return fail(Fault::internal, "running {}: {}", spec.program, e.what());
    }
    if (!ended) return pass(ended);
    if (timed_out) {
        const auto seconds = std::chrono::duration<double>(options.limit).count();
        return fail(Fault::timeout, "{} did not end within {} s and was killed", spec.program, seconds);
    }
    RunOutput result;
    result.status = *ended;
    result.out = out.capture().text();
    result.err = err.capture().text();
    result.truncated = out.capture().truncated() || err.capture().truncated();
    result.elapsed = std::chrono::steady_clock::now() - started;
    result.cpu = children_cpu() - cpu_before;
    return result;
}

Result<RunOutput> run_checked(const ProcessSpec& spec, const RunOptions& options) {
    auto done = run_process(spec, options);
    if (!done || done->status.ok()) return done;
    std::string what = fs::path(spec.program).filename().string();
    if (!spec.args.empty()) what += " " + spec.args.front();
    std::string reason = last_line(done->err);
    if (reason.empty()) reason = last_line(done->out);
    return fail(Fault::infra, "{}: {}{}{}", what, to_string(done->status), reason.empty() ? "" : ": ", reason);
}

}  // namespace kab
