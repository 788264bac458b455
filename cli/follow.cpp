#include "cli/follow.h"

#include <unistd.h>

#include <csignal>
#include <thread>

#include "cli/client.h"
#include "cli/daemon_log.h"
#include "cli/daemon_start.h"
#include "cli/queue.h"
#include "common/units.h"

namespace kab::cli {
namespace {

using Steady = std::chrono::steady_clock;

constexpr auto redraw = std::chrono::milliseconds(250);
constexpr auto queue_interval = std::chrono::seconds(5);
constexpr auto settle_limit = std::chrono::seconds(15);
constexpr auto settle_interval = std::chrono::milliseconds(100);
constexpr int most_restarts = 5;  // without any progress between them

volatile std::sig_atomic_t interrupts = 0;

void on_interrupt(int) {
    interrupts = interrupts + 1;
    if (interrupts > 1) ::_exit(exit_cancelled);
}

/// Something that a daemon need not do again: one that only repeats its beginnings gets nowhere.
bool is_progress(const api::Transition& change) {
    return (change.object == "boot" && change.to == "done" && change.detail == "ok") ||
           (change.object == "arm" && change.to == "ready") || (change.object == "block" && change.to == "complete");
}

class Follower {
  public:
    Follower(const Paths& paths, std::string name, ProgressView::Style style, bool cancels)
        : paths_(paths),
          client_(paths.socket()),
          log_(paths.state / "kabd.log"),
          name_(std::move(name)),
          view_(stderr, style),
          cancels_(cancels) {}

    Result<api::EvaluationDetail> run() {
        for (;;) {
            auto detail = ask();
            if (!detail) return detail;
            if (detail->evaluation.ended()) return settled(std::move(*detail));
            status_ = detail->evaluation.status;
            if (after_ < 0) {
                after_ = detail->last_seq;
                if (status_ != "queued" || !look_at_queue()) view_.note(status_);
            }
            if (detail->evaluation.progress) view_.show(*detail->evaluation.progress, Steady::now());
            if (auto watched = watch(); !watched) return pass(watched);
        }
    }

  private:
    /// The evaluation now, from a daemon that is started where there is none.
    Result<api::EvaluationDetail> ask() {
        for (;;) {
            if (auto daemon = ensure_daemon(paths_); !daemon) return pass(daemon);
            auto detail = client_.evaluation(name_);
            if (detail) {
                name_ = detail->evaluation.uid;  // "last" may be another one by now
                return detail;
            }
            if (detail.error().fault != Fault::infra) return detail;
            if (auto restart = restarted(detail.error().text()); !restart) return pass(restart);
        }
    }

    /// Cancelled is said before its boot and its build have ended; who presses Ctrl-C wants the machine back.
    api::EvaluationDetail settled(api::EvaluationDetail detail) {
        if (!cancels_ || detail.evaluation.status != "cancelled") return detail;
        const auto until = Steady::now() + settle_limit;
        while (detail.busy && Steady::now() < until) {
            std::this_thread::sleep_for(settle_interval);
            auto next = client_.evaluation(name_);
            if (!next) return detail;  // the daemon went away, and its children with it
            detail = std::move(*next);
        }
        if (detail.busy) view_.note("what it ran is still being ended");
        return detail;
    }

    /// Until the evaluation has changed its status, or the daemon went away.
    Status watch() {
        auto stream = client_.events(after_, name_);
        if (!stream) return restarted(stream.error().text());
        for (;;) {
            auto next = stream->next(redraw);
            if (next.state == EventStream::State::closed) return restarted(next.reason);
            if (next.event && take(*next.event)) return {};
            if (status_ == "queued" && Steady::now() - queue_seen_ >= queue_interval) look_at_queue();
            view_.tick(Steady::now());
            if (auto done = look_at_interrupts(); !done) return done;
        }
    }

    /// True when the evaluation itself changed.
    bool take(const api::Event& event) {
        if (const auto* progress = std::get_if<api::Progress>(&event)) {
            view_.show(*progress, Steady::now());
            return false;
        }
        auto transition = std::get<api::Transition>(event);
        after_ = transition.seq;
        if (is_progress(transition)) restarts_ = 0;
        if (transition.object == "host" && transition.detail.empty()) transition.detail = why_down(transition.name);
        view_.show(transition);
        if (transition.object == "boot") show_failure(transition);
        return transition.object == "evaluation";
    }

    std::string why_down(const std::string& name) {
        const auto hosts = client_.hosts();
        if (!hosts) return {};
        for (const auto& host : *hosts)
            if (host.name == name && host.status == "down")
                return json_get_or<std::string>(host.properties, "detail", {}).value_or("");
        return {};
    }

    /// A transition does not say which arm it was.
    void show_failure(const api::Transition& boot) {
        const bool failed = boot.to == "done" && boot.detail != "ok";
        const bool again = boot.from == "running" && boot.to == "pending";
        if (!failed && !again) return;
        const auto detail = client_.evaluation(name_);
        if (!detail) return;  // the stream will end too
        const api::Failure* found = nullptr;
        for (const auto& failure : failed ? detail->failures : detail->retries)
            if (failure.boot == boot.name) found = &failure;
        if (found != nullptr) view_.note(describe(*found) + (again ? ", tried again" : ""));
    }

    /// False when nothing is ahead.
    bool look_at_queue() {
        queue_seen_ = Steady::now();
        const auto all = client_.evaluations();
        const auto text = all ? describe_queue(*all, name_) : std::string();
        if (!text.empty()) view_.wait(text, Steady::now());
        return !text.empty();
    }

    Status look_at_interrupts() {
        if (!cancels_ || interrupts == 0 || cancelled_) return {};
        if (!told_) view_.note("cancelling; once more to leave without waiting");
        told_ = true;
        const auto asked = client_.cancel(name_);
        // It may have ended in this moment; and where a daemon went away, the next one is asked.
        const auto fault = asked ? Fault::conflict : asked.error().fault;
        cancelled_ = fault == Fault::conflict;
        return cancelled_ || fault == Fault::infra || fault == Fault::timeout ? Status() : asked;
    }

    /// The daemon went away: says so. Fault::infra when it has done so too often.
    Status restarted(const std::string& how) {
        const auto why = log_.complaint();
        log_.skip();
        if (++restarts_ > most_restarts)
            return fail(Fault::infra, "kabd went away {} times without getting on: {} (see {})", restarts_,
                        why.empty() ? how : why, log_.path().string());
        view_.note((why.empty() ? "kabd went away" : "kabd ended: " + why) + "; going on with a new one");
        return {};
    }

    const Paths& paths_;
    Client client_;
    DaemonLog log_;
    std::string name_, status_;
    ProgressView view_;
    bool cancels_, told_ = false, cancelled_ = false;
    std::int64_t after_ = -1;
    int restarts_ = 0;
    Steady::time_point queue_seen_;
};

}  // namespace

void note_interrupts() {
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    ::sigaction(SIGINT, &action, nullptr);
}

Result<api::EvaluationDetail> follow(const Paths& paths, const std::string& name, ProgressView::Style style,
                                     bool cancel_when_interrupted) {
    return Follower(paths, name, style, cancel_when_interrupted).run();
}

}  // namespace kab::cli
