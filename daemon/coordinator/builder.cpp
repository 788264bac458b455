#include "daemon/coordinator/builder.h"

#include <array>
#include <boost/asio/steady_timer.hpp>
#include <cassert>

namespace kab {
namespace asio = boost::asio;

/// One run of kab-build. Lives until `done` was called; owned by its callbacks.
struct ProcessBuilder::Job : std::enable_shared_from_this<Job> {
    explicit Job(const asio::any_io_executor& executor) : timer(executor) {}

    std::unique_ptr<ChildProcess> child;
    asio::steady_timer timer;
    fs::path request_file;
    std::array<char, 16384> buffer{};
    std::string text;
    Progress progress;
    std::function<void(Result<Json>)> done;
    Result<Json> result = fail(Fault::internal, "kab-build ended without a result");
    Fault stopped = Fault::internal;  ///< why we killed it, if we did
    bool eof = false, exited = false, waiting = false;
    Nanoseconds limit{0};

    void start_clock();
    void read();
    void line(const std::string& json);
    void finish();
};

void ProcessBuilder::Job::start_clock() {
    if (limit <= Nanoseconds::zero()) return;
    timer.expires_after(limit);
    timer.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
        if (error || !self->child) return;
        self->stopped = Fault::timeout;
        self->child->kill();
    });
}

void ProcessBuilder::Job::read() {
    child->out()->async_read_some(
        asio::buffer(buffer), [self = shared_from_this()](const boost::system::error_code& error, std::size_t size) {
            self->text.append(self->buffer.data(), size);
            for (auto end = self->text.find('\n'); end != std::string::npos; end = self->text.find('\n')) {
                const std::string json = self->text.substr(0, end);
                self->text.erase(0, end + 1);
                self->line(json);
            }
            if (!error) return self->read();
            self->eof = true;
            self->finish();
        });
}

void ProcessBuilder::Job::line(const std::string& json) {
    auto message = parse_json(json);
    if (!message || !message->is_object()) {
        result = fail(Fault::internal, "kab-build said: {}", json);
        return;
    }
    const auto type = message->value("type", "");
    if (type == "progress") {
        const bool waits = message->value("step", "") == "waiting";
        if (waits != waiting) {
            waiting = waits;
            if (waits)
                timer.cancel();
            else
                start_clock();
        }
        if (progress)
            progress(message->value("step", ""), message->value("done", std::int64_t{0}),
                     message->value("total", std::int64_t{0}));
    } else if (type == "error") {
        Error error{Fault::build, message->value("message", ""), message->value("where", "")};
        const auto fault = message->value("fault", "build");
        for (const auto one : {Fault::usage, Fault::spec, Fault::not_found, Fault::conflict, Fault::io, Fault::infra,
                               Fault::protocol, Fault::cancelled, Fault::timeout, Fault::internal})
            if (fault == to_string(one)) error.fault = one;
        if (const auto log = message->value("log", ""); !log.empty()) error.message += " (log: " + log + ")";
        result = tl::unexpected(error);
    } else if (type == "result") {
        result = std::move(*message);
    }
}

void ProcessBuilder::Job::finish() {
    if (!eof || !exited || !done) return;
    timer.cancel();
    std::error_code ignored;  // a scratch file; swept at the next start if this fails
    fs::remove(request_file, ignored);
    if (stopped == Fault::cancelled) result = fail(Fault::cancelled, "cancelled");
    if (stopped == Fault::timeout) result = fail(Fault::timeout, "limits.build was reached");
    child.reset();
    auto call = std::move(done);
    done = nullptr;
    call(std::move(result));
}

ProcessBuilder::ProcessBuilder(asio::any_io_executor executor, fs::path program, fs::path scratch)
    : executor_(executor), program_(std::move(program)), scratch_(std::move(scratch)) {}

ProcessBuilder::~ProcessBuilder() {
    if (!job_ || !job_->child) return;
    job_->done = nullptr;
    job_->timer.cancel();
    job_->child.reset();
}

void ProcessBuilder::start(const std::string& verb, const Json& request, Nanoseconds limit, Progress progress,
                           std::function<void(Result<Json>)> done) {
    assert(!job_ || !job_->child);
    auto job = std::make_shared<Job>(executor_);
    job_ = job;
    job->progress = std::move(progress);
    job->request_file = scratch_ / ("build-" + verb + ".json");
    auto written = make_directories(scratch_);
    if (written) written = write_file(job->request_file, dump_json(request));
    if (!written) return done(pass(written));
    ProcessSpec spec;
    spec.program = program_.string();
    spec.args = {verb, job->request_file.string()};
    spec.out = Output::pipe();
    spec.err = Output::inherit();
    auto child = ChildProcess::start(executor_, spec);
    if (!child) return done(pass(child));
    job->child = std::move(*child);
    job->done = std::move(done);
    job->child->async_wait([job](const Result<ExitStatus>& status) {
        if (status && status->signal != 0) {
            job->result = fail(Fault::build, "kab-build ended by {}", to_string(*status));
        }
        job->exited = true;
        job->finish();
    });
    job->limit = limit;
    job->start_clock();
    job->read();
}

void ProcessBuilder::freeze(const kernel::Request& request, Nanoseconds limit, Progress progress,
                            std::function<void(Result<kernel::Frozen>)> done) {
    start("freeze", kernel::to_json(request), limit, std::move(progress),
          [done = std::move(done)](Result<Json> result) {
              if (!result) return done(pass(result));
              done(kernel::frozen_from_json(result->value("frozen", Json::object())));
          });
}

void ProcessBuilder::build(const kernel::Frozen& frozen, Nanoseconds limit, Progress progress,
                           std::function<void(Result<kernel::Built>)> done) {
    start("build", kernel::to_json(frozen), limit, std::move(progress), [done = std::move(done)](Result<Json> result) {
        if (!result) return done(pass(result));
        done(kernel::built_from_json(result->value("built", Json::object())));
    });
}

void ProcessBuilder::stop() {
    if (!job_ || !job_->child) return;
    job_->stopped = Fault::cancelled;
    job_->child->kill();
}

}  // namespace kab
