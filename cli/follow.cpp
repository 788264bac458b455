#include "cli/follow.h"

#include <unistd.h>

#include <csignal>

#include "cli/client.h"
#include "cli/daemon_start.h"
#include "common/units.h"

namespace kab::cli {
namespace {

using Steady = std::chrono::steady_clock;

constexpr auto redraw = std::chrono::milliseconds(250);
constexpr int most_restarts = 5;  // without any transition between them

volatile std::sig_atomic_t interrupts = 0;

void on_interrupt(int) {
    interrupts = interrupts + 1;
    if (interrupts > 1) ::_exit(exit_cancelled);
}

class Follower {
  public:
    Follower(const Paths& paths, std::string name, ProgressView::Style style, bool cancels)
        : paths_(paths), client_(paths.socket()), name_(std::move(name)), view_(stderr, style), cancels_(cancels) {}

    Result<api::EvaluationDetail> run() {
        for (;;) {
            auto detail = ask();
            if (!detail) return detail;
            if (detail->evaluation.ended()) return detail;
            if (after_ < 0) {
                after_ = detail->last_seq;
                view_.note(detail->evaluation.status);
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
            if (detail.error().fault != Fault::not_found && detail.error().fault != Fault::infra) return detail;
            // "no such evaluation" looks like "no daemon": asking again tells them apart.
            if (client_.version() || !may_restart()) return detail;
        }
    }

    /// Until the evaluation has changed its status, or the daemon went away.
    Status watch() {
        auto stream = client_.events(after_, name_);
        if (!stream) return lost(stream.error().text());
        for (;;) {
            auto next = stream->next(redraw);
            if (next.state == EventStream::State::closed) return lost(next.reason);
            if (next.event && take(*next.event)) return {};
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
        const auto& transition = std::get<api::Transition>(event);
        after_ = transition.seq;
        restarts_ = 0;
        view_.show(transition);
        if (transition.object == "boot" && transition.detail != "ok" && transition.to == "done")
            show_failure(transition.name);
        return transition.object == "evaluation";
    }

    /// A transition does not say which arm it was.
    void show_failure(const std::string& boot) {
        const auto detail = client_.evaluation(name_);
        if (!detail) return;  // the stream will end too
        for (const auto& failure : detail->failures)
            if (failure.boot == boot) view_.note(describe(failure));
    }

    Status look_at_interrupts() {
        if (!cancels_ || interrupts == 0 || cancelled_) return {};
        cancelled_ = true;
        view_.note("cancelling; once more to leave without waiting");
        const auto asked = client_.cancel(name_);
        // It may have ended in this moment; and a daemon that went away is asked again by the next one.
        if (!asked && asked.error().fault == Fault::infra) cancelled_ = false;
        if (asked || asked.error().fault == Fault::conflict || !cancelled_) return {};
        return asked;
    }

    Status lost(const std::string& why) {
        if (!may_restart())
            return fail(Fault::infra, "kabd went away {} times without getting on ({}): see {}", most_restarts, why,
                        (paths_.state / "kabd.log").string());
        return {};
    }

    bool may_restart() {
        if (++restarts_ > most_restarts) return false;
        view_.note("kabd went away; going on with a new one");
        return true;
    }

    const Paths& paths_;
    Client client_;
    std::string name_;
    ProgressView view_;
    bool cancels_, cancelled_ = false;
    std::int64_t after_ = -1;
    int restarts_ = 0;
};

}  // namespace

void note_interrupts() {
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() {
    return interrupts > 0;
}

Result<api::EvaluationDetail> follow(const Paths& paths, const std::string& name, ProgressView::Style style,
                                     bool cancel_when_interrupted) {
    return Follower(paths, name, style, cancel_when_interrupted).run();
}

}  // namespace kab::cli
