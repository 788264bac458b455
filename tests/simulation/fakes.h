#pragma once
// A host and a builder that need no kernel: they answer from the event loop, at once.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <functional>
#include <map>
#include <string>

#include "daemon/coordinator/builder.h"
#include "daemon/host/host.h"

namespace kab::sim {

/// What a boot does, decided by where it stands in the plan, never by the attempt.
struct Place {
    int block = 0;
    std::string arm;
    int repetition = 1;  ///< of the block; data must not depend on it
};

/// Values and faults of the simulated machine.
class Script {
  public:
    virtual ~Script() = default;
    virtual double value(const Place& place, const msg::RunOrder& run, const std::string& metric) = 0;
    virtual msg::Outcome outcome(const Place&) { return msg::Outcome::ok; }
    /// What the kernel says on its console though the boot goes well; empty: nothing.
    virtual std::string complaint(const Place&) { return {}; }
    /// What the host says of itself beside a run.
    virtual std::vector<msg::Sample> conditions(const Place&, const msg::RunOrder&) { return {}; }
    /// SHA-256 of the agent and of the shell (empty: none) that a boot is packed with, asked once a boot.
    virtual std::string agent(const Place&) { return "agent"; }
    virtual std::string shell(const Place&) { return {}; }
    /// Whether the host hears of a cancellation before the boot has ended by itself.
    virtual bool hears_cancel() { return true; }
    /// How often the host dies in the middle of a boot before it succeeds (by attempt number, from 1).
    virtual bool host_dies(const Place&, int /*attempt_number*/) { return false; }
    /// Whether what the host says of this run never arrives, though the boot goes on.
    virtual bool loses_run(const Place&, const msg::RunOrder&) { return false; }
    /// Whether this try (from 1, as far as this host remembers) ends as the infrastructure's fault, after half its
    /// runs.
    virtual bool infra_error(const Place&, int /*attempt_number*/) { return false; }
};

class FakeHost final : public Host {
  public:
    FakeHost(boost::asio::io_context& io, Script& script, std::function<Place(const std::string&)> locate)
        : io_(io), script_(script), locate_(std::move(locate)) {}
    ~FakeHost() override { *alive_ = false; }

    void start(HostListener& listener) override {
        listener_ = &listener;
        post([this] { listener_->host_up(msg::Hello{"kab-host", 1, 0, "sim", {"qemu"}, {}}); });
    }

    void boot(const msg::BootRequest& request) override {
        current_ = request.attempt;
        EXPECT_TRUE(write_file(request.console_path, "console of " + request.attempt));
        post([this, request] { listener_->boot_progress({request.attempt, "booting", 0, 0}); });
        post([this, request] {
            msg::BootHello hello;
            hello.attempt = request.attempt;
            hello.accel = "tcg";
            hello.machine = "microvm";
            const auto place = locate_(request.attempt);
            hello.agent_sha256 = script_.agent(place);
            hello.shell_sha256 = script_.shell(place);
            listener_->boot_hello(hello);
        });
        run(request, 0);
    }

    void cancel(const std::string& attempt) override {
        if (current_ != attempt || !script_.hears_cancel()) return;
        current_.clear();
        post([this, attempt] { finish(attempt, msg::Outcome::cancelled, "cancelled", 0); });
    }

    void acknowledge(const std::string&, std::int64_t) override { ++acknowledged; }
    void stop() override { *alive_ = false; }

    int boots = 0, acknowledged = 0;

  private:
    template <class F>
    void post(F&& what) {
        boost::asio::post(io_, [alive = alive_, what = std::forward<F>(what)] {
            if (*alive) what();
        });
    }

    void run(const msg::BootRequest& request, std::size_t at) {
        post([this, request, at] {
            if (current_ != request.attempt) return;
            const auto place = locate_(request.attempt);
            if (at == request.plan.runs.size() / 2 && script_.host_dies(place, ++deaths_[key(place)])) {
                current_.clear();
                listener_->host_lost("the simulated host died");
                return post([this] { listener_->host_up(msg::Hello{"kab-host", 1, 0, "sim", {"qemu"}, {}}); });
            }
            if (at == request.plan.runs.size() / 2 && script_.infra_error(place, ++errors_[key(place)])) {
                current_.clear();
                return finish(request.attempt, msg::Outcome::infra_error, "simulated: no memory for a guest",
                              static_cast<std::int64_t>(at));
            }
            const auto outcome = script_.outcome(place);
            if (at == request.plan.runs.size() || outcome != msg::Outcome::ok) {
                current_.clear();
                return finish(request.attempt, outcome, outcome == msg::Outcome::ok ? "" : "simulated fault",
                              static_cast<std::int64_t>(at));
            }
            const auto& order = request.plan.runs[at];
            msg::RunFinished finished{request.attempt, order.seq, 1000 * order.seq, {}};
            if (order.check) {
                // A check measures nothing.
            } else if (order.counters.empty()) {
                for (const char* metric : {"elapsed", "backlog"})
                    finished.samples.push_back({metric, script_.value(place, order, metric), "", {}, {}});
            } else {
                for (const auto& counter : order.counters)
                    finished.samples.push_back({counter, script_.value(place, order, counter), "", 10, 10});
            }
            finished.conditions = script_.conditions(place, order);
            if (!script_.loses_run(place, order)) listener_->run_finished(finished);
            run(request, at + 1);
        });
    }

    void finish(const std::string& attempt, msg::Outcome outcome, const std::string& detail, std::int64_t runs) {
        ++boots;
        msg::BootFinished finished;
        finished.attempt = attempt;
        finished.outcome = outcome;
        finished.detail = detail;
        finished.runs = runs;
        if (const auto text = script_.complaint(locate_(attempt)); !text.empty())
            finished.console.push_back({"warning", "warning", text, text, 1});
        listener_->boot_finished(finished);
    }

    static std::string key(const Place& place) { return fmt::format("{}/{}", place.block, place.arm); }

    boost::asio::io_context& io_;
    Script& script_;
    std::function<Place(const std::string&)> locate_;
    HostListener* listener_ = nullptr;
    std::string current_;
    std::map<std::string, int> deaths_, errors_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

class FakeBuilder final : public Builder {
  public:
    FakeBuilder(boost::asio::io_context& io, fs::path image) : io_(io), image_(std::move(image)) {}
    ~FakeBuilder() override { *alive_ = false; }

    void freeze(const kernel::Request& request, Nanoseconds, Progress,
                std::function<void(Result<kernel::Frozen>)> done) override {
        boost::asio::post(io_, [alive = alive_, request, done] {
            if (!*alive) return;
            kernel::Frozen frozen;
            frozen.key = std::string(64, 'a');
            frozen.key.replace(0, request.location.size() % 60, request.location.size() % 60, 'b');
            frozen.kind = request.kind;
            frozen.origin = request.location;
            frozen.image = request.location;
            done(frozen);
        });
    }

    void build(const kernel::Frozen& frozen, Nanoseconds, Progress,
               std::function<void(Result<kernel::Built>)> done) override {
        ++builds;
        boost::asio::post(io_, [alive = alive_, key = frozen.key, image = image_, done] {
            if (!*alive) return;
            kernel::Built built;
            built.key = key;
            built.path = image.string();
            built.format = "vmlinux";
            done(built);
        });
    }

    void stop() override {}
    int builds = 0;

  private:
    boost::asio::io_context& io_;
    fs::path image_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace kab::sim
