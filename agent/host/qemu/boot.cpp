// The second part of a boot: what happens while QEMU runs, and how it ends. The first is boot_start.cpp.
#include "agent/host/qemu/boot.h"

#include <boost/asio/post.hpp>

#include "agent/host/console/printable.h"
#include "common/units.h"

namespace kab::qemu {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

namespace {

/// For a guest that is about to reset by itself: the console's last lines are worth waiting for.
constexpr Nanoseconds patience_with_agent = std::chrono::seconds(2);
/// For one that is done: its kernel may yet fail on the way down, and say so late. At most the limit of a run.
constexpr Nanoseconds patience_with_way_down = std::chrono::seconds(30);
constexpr Nanoseconds patience_with_panic = std::chrono::seconds(5);
constexpr Nanoseconds patience_with_exit = std::chrono::seconds(1);
constexpr Nanoseconds patience_with_quit = std::chrono::milliseconds(500);
constexpr Nanoseconds progress_interval = std::chrono::milliseconds(200);

SteadyTime now() {
    return SystemClock().steady();
}

std::int64_t since(SteadyTime start) {
    return start == SteadyTime() ? 0 : (now() - start).count();
}

/// A detail is one line for people; some of it comes from the guest.
std::string bounded(const std::string& text) {
    constexpr std::size_t most = 2000;
    std::string detail = printable(text);
    if (detail.size() > most) detail = std::string(cut_to(detail, most)) + "...";
    return detail;
}

}  // namespace

void Boot::cancel() {
    if (phase_ == Phase::finished) return;
    false_start_ = false;
    facts_.cancelled = true;
    for (const auto& channel : channels_) channel->socket->close();
    end(Nanoseconds(0));
}

void Boot::acknowledge(std::int64_t seq) {
    acknowledged_ = std::max(acknowledged_, std::min(seq, sent_));
    if (!speaking_ || sent_ - acknowledged_ >= most_unacknowledged) return;
    if (phase_ == Phase::running && !facts_.run_limit_passed) arm(request_.run_limit_ns, facts_.run_limit_passed);
    speaking_->socket->resume();
    relay(speaking_);
}

void Boot::receive_control(const std::string& event, const Json& data) {
    if (event == "SHUTDOWN") return emulator_says_bye(json_get_or<std::string>(data, "reason", "").value_or(""));
    // Nobody else stops the machine: it is an error of KVM, or of QEMU itself.
    if (event != "STOP" || phase_ >= Phase::ending || false_start_) return;
    facts_.emulator_paused = true;
    end(Nanoseconds(0));
}

/// The guest's timers do not work, for which the host is to blame: QEMU is started anew, if that may help.
bool Boot::start_falsely() {
    // With a timer that never ticks in time the kernel gives up altogether; any other fault is its own.
    const bool own_fault = scanner_.fatal() && scanner_.fatal_line().find("timer doesn't work") == std::string::npos;
    // In exact mode all happens again as it happened.
    const bool may_help = prepared_->plan.accel == "tcg" && !request_.exact && prepared_->plan.timers && !own_fault;
    if (!may_help || phase_ != Phase::starting || false_start_ || false_starts_ >= most_false_starts) return false;
    if (!emulator_ || emulator_gone_) return false;
    false_start_ = true;
    limit_.cancel();
    emulator_->kill();
    return true;
}

void Boot::receive_console(std::string_view bytes) {
    scanner_.push(bytes);
    heard_console_ = now();
    if (false_start_) return;
    if (!scanner_.timer_line().empty() && start_falsely()) return;
    if (scanner_.fatal() && facts_.console_fault.empty()) {
        facts_.console_fault = scanner_.fatal_line();
        end(patience_with_panic);
    }
    if (console_->bytes() > largest_console && !facts_.console_flood) {
        facts_.console_flood = true;
        end(Nanoseconds(0));
    }
}

void Boot::receive_agent(const std::shared_ptr<Channel>& channel, std::string_view bytes) {
    if (false_start_ || (speaking_ && speaking_ != channel)) return;
    channel->dialog.push(bytes);
    relay(channel);
}

/// Handles what the agent has said so far, as far as credit goes.
void Boot::relay(const std::shared_ptr<Channel>& channel) {
    while (!channel->socket->closed()) {
        // In exact mode a guest that has to wait would have been disturbed, and plans are short.
        if (sent_ - acknowledged_ >= most_unacknowledged && !request_.exact) {
            channel->socket->pause();
            limit_.cancel();  // it is us who keep the guest waiting
            return;
        }
        auto message = channel->dialog.next();
        if (!message) {
            channel->socket->close();
            // Noise on the line that the agent was not told to use is not its fault.
            if (channel != speaking_ && channel->name != prepared_->plan.channel) return finish_if_all_ended();
            facts_.agent_nonsense = message.error().text();
            return end(Nanoseconds(0));
        }
        if (!message->has_value()) return;
        speaking_ = channel;
        if (auto* hello = std::get_if<msg::AgentHello>(&**message)) {
            handle(std::move(*hello));
        } else if (auto* run = std::get_if<msg::RunFinished>(&**message)) {
            handle(std::move(*run));
        } else if (std::holds_alternative<msg::RunStarted>(**message)) {
            conditions_.run_started(now());
            arm(request_.run_limit_ns, facts_.run_limit_passed);
        } else if (auto* error = std::get_if<msg::AgentError>(&**message)) {
            handle(std::move(*error));
        } else {
            facts_.done = true;
            let_go(std::clamp(Nanoseconds(request_.run_limit_ns), patience_with_agent, patience_with_way_down));
        }
    }
}

void Boot::handle(msg::AgentHello hello) {
    greeted_ = now();
    facts_.hello = true;
    msg::BootHello report;
    report.attempt = request_.attempt;
    report.accel = prepared_->plan.accel;
    report.accel_reason = accel_reason_;
    report.machine = prepared_->plan.machine;
    report.emulator = emulator_version_;
    report.channel = speaking_->name;
    report.pinning = pinning_;
    report.agent_sha256 = prepared_->programs.agent;
    report.shell_sha256 = prepared_->programs.shell;
    facts_.plan_mismatch = plan_mismatch(hello, prepared_->plan);
    facts_.missing_cpus = missing_cpus(hello, prepared_->plan);
    high_resolution_timers_ = hello.high_resolution_timers;
    report.agent = std::move(hello);
    if (msg::encode(report).size() > max_frame_bytes) {
        facts_.agent_nonsense = "its hello is too long";
        speaking_->socket->close();
        return end(Nanoseconds(0));
    }
    send_(report);
    if (phase_ != Phase::starting) return;  // already given up
    const bool slow_timers = prepared_->plan.timers && !high_resolution_timers_ && !scanner_.timer_line().empty();
    if (slow_timers || !facts_.plan_mismatch.empty() || !facts_.missing_cpus.empty()) return end(Nanoseconds(0));
    phase_ = Phase::running;
    ease_vcpus();
    if (!request_.exact) speaking_->socket->send(frame(msg::encode(request_.plan)));
    arm(request_.run_limit_ns, facts_.run_limit_passed);
    progress("running");
}

void Boot::handle(msg::RunFinished run) {
    run.attempt = request_.attempt;
    for (auto& condition : conditions_.run_finished(now())) run.conditions.push_back(std::move(condition));
    if (msg::encode(run).size() > max_frame_bytes) {
        facts_.agent_nonsense = fmt::format("run {} has too many samples", run.seq);
        speaking_->socket->close();
        return end(Nanoseconds(0));
    }
    sent_ = run.seq;
    facts_.runs_finished = speaking_->dialog.runs_finished();
    send_(run);
    if (phase_ == Phase::running) arm(request_.run_limit_ns, facts_.run_limit_passed);
    if (now() - last_progress_ >= progress_interval) progress("running");
}

void Boot::handle(msg::AgentError error) {
    // Its own fault, but during a run: it is the run that brought it down (memory ran out, most often).
    const auto run = speaking_->dialog.run_in_progress();
    if (error.seq == 0 && run > 0) {
        error.seq = run;
        error.message = fmt::format("{} in run {} of {}", error.message, run, facts_.runs_planned);
    }
    facts_.agent_error = std::move(error);
    let_go(patience_with_agent);
}

/// The agent is heard, and may take the machine down within `patience`.
void Boot::let_go(Nanoseconds patience) {
    speaking_->socket->send(frame(msg::encode(msg::Shutdown{})));
    end(patience);
}

void Boot::progress(const char* phase) {
    last_progress_ = now();
    send_(msg::BootProgress{request_.attempt, phase, facts_.runs_finished, facts_.runs_planned});
}

/// Starts the one deadline anew; a passed one ends the boot.
void Boot::arm(std::int64_t limit_ns, bool& passed) {
    limit_.expires_after(Nanoseconds(limit_ns));
    limit_.async_wait([self = shared_from_this(), limit_ns, &passed](ErrorCode error) {
        // It may have been armed anew, or the boot have ended, after this handler was queued.
        if (error || self->phase_ >= Phase::ending || self->limit_.expiry() > now()) return;
        passed = true;
        self->facts_.limit = format_duration(Nanoseconds(limit_ns));
        if (self->heard_console_ != SteadyTime()) {
            // Always in seconds: reports group details by what is left of them without their numbers.
            self->facts_.silent_for =
                fmt::format("{:.1f} s", std::chrono::duration<double>(now() - self->heard_console_).count());
        }
        self->facts_.run_in_progress = self->speaking_ ? self->speaking_->dialog.run_in_progress() : 0;
        self->end(Nanoseconds(0));
    });
}

/// The guest is given `patience` to end by itself, then QEMU is asked to, then killed.
void Boot::end(Nanoseconds patience) {
    if (phase_ == Phase::finished) return;
    if (phase_ != Phase::ending) ending_since_ = now();
    phase_ = Phase::ending;
    limit_.cancel();
    if (emulator_gone_ || !emulator_) return finish_if_all_ended();
    ending_.expires_after(patience);
    ending_.async_wait([self = shared_from_this(), patience](ErrorCode error) {
        if (error || self->emulator_gone_) return;
        self->ended_by_us_ = true;
        if (!self->facts_.shutdown_reason.empty()) return self->emulator_->kill();
        // A console that panics or floods, or somebody who cancels, shortens this, and says more.
        if (self->facts_.done && patience > Nanoseconds(0) && !self->scanner_.fatal()) {
            self->facts_.stayed_up = format_duration(patience);
        }
        self->qmp_->quit();
        self->ending_.expires_after(patience_with_quit);
        self->ending_.async_wait([self](ErrorCode again) {
            if (!again && !self->emulator_gone_) self->emulator_->kill();
        });
    });
}

/// QEMU is about to exit, most often. In QEMU 7.2 a command that comes at this moment makes it wait for ever
/// (monitor_cleanup), so none is sent any more, and the exit is not taken for granted.
void Boot::emulator_says_bye(const std::string& reason) {
    facts_.shutdown_reason = reason.empty() ? "unknown" : reason;
    // What the guest wrote last decides what its end means.
    if (auto drained = console_->drain(); !drained) facts_.host_failure = drained.error().text();
    if (!false_start_) end(patience_with_exit);
}

void Boot::emulator_ended(const Result<ExitStatus>& status) {
    emulator_gone_ = true;
    ending_.cancel();
    limit_.cancel();
    if (!status) {
        facts_.host_failure = status.error().text();
    } else if (ended_by_us_ && facts_.shutdown_reason.starts_with("guest")) {
        facts_.emulator = ExitStatus{};  // the guest's doing; it only was not done with it
    } else if (!ended_by_us_ && !false_start_) {
        facts_.emulator = *status;
    }
    if (phase_ < Phase::ending && !false_start_) {
        ending_since_ = now();
        phase_ = Phase::ending;
    }
    control_->emulator_ended();
    for (const auto& channel : channels_) channel->socket->emulator_ended();
    finish_if_all_ended();
}

void Boot::finish_if_all_ended() {
    const bool again = phase_ == Phase::starting && false_start_;
    if ((phase_ != Phase::ending && !again) || !emulator_gone_ || !errors_read_) return;
    if (!control_->closed()) return;
    for (const auto& channel : channels_) {
        if (!channel->socket->closed()) return;
    }
    if (again) return start_again();
    finish();
}

/// From what is known only now that all has been read.
void Boot::complete_facts() {
    facts_.console_fault = scanner_.fatal_line();
    facts_.console_stall = scanner_.stall_line();
    facts_.console_memory = scanner_.memory_line();
    facts_.timer_trouble = scanner_.timer_line();
    facts_.last_console_line = scanner_.last_line();
    facts_.last_agent_line = scanner_.last_agent_line();
    facts_.emulator_message = telling_line(errors_.text());
    if (speaking_) facts_.run_in_progress = speaking_->dialog.run_in_progress();
    const bool timers_failed = prepared_ && prepared_->plan.timers && !facts_.timer_trouble.empty();
    facts_.timers_missing = timers_failed && facts_.hello && !high_resolution_timers_;
    facts_.false_starts_used_up = timers_failed && false_starts_ == most_false_starts;
}

void Boot::finish() {
    phase_ = Phase::finished;
    msg::BootFinished report;
    if (console_) {
        if (auto drained = console_->drain(); !drained) facts_.host_failure = drained.error().text();
        report.console_bytes = console_->bytes();
        console_->close();
    }
    report.console = scanner_.finish();
    complete_facts();
    if (auto complaint = complaint_of_staying_up(facts_, scanner_.lines())) {
        report.console.push_back(std::move(*complaint));
    }
    auto verdict = decide_outcome(facts_);
    report.attempt = request_.attempt;
    report.outcome = verdict.outcome;
    report.detail = bounded(verdict.detail);
    report.runs = facts_.runs_finished;
    report.false_starts = false_starts_;
    if (started_ != SteadyTime()) report.setup_ns = (started_ - requested_).count();
    if (facts_.hello) {
        report.hello_ns = (greeted_ - started_).count();
        report.work_ns = (ending_since_ - greeted_).count();
    }
    // Gone before it is reported: the emulator, the sockets, the directory.
    if (control_) control_->close();
    for (const auto& channel : channels_) channel->socket->close();
    emulator_.reset();
    prepared_.reset();
    report.teardown_ns = since(ending_since_);
    asio::post(executor_, [self = shared_from_this(), report = std::move(report)]() mutable {
        self->finished_(std::move(report));
    });
}

}  // namespace kab::qemu
