#include "agent/host/qemu/agent_dialog.h"

#include <fmt/core.h>

#include <algorithm>

namespace kab::qemu {
namespace {

template <class... Handlers>
struct Overload : Handlers... {
    using Handlers::operator()...;
};
template <class... Handlers>
Overload(Handlers...) -> Overload<Handlers...>;

/// Whether the plan asks for what agents before protocol 1.2 leave out unsaid: shares of the kernel's samples.
bool takes_minor_2(const msg::AgentPlan& plan) {
    return std::any_of(plan.runs.begin(), plan.runs.end(), [](const msg::RunOrder& run) {
        const auto& groups = run.profile.groups;
        return std::any_of(groups.begin(), groups.end(), [](const auto& group) { return group.of_kernel; });
    });
}

}  // namespace

Result<std::optional<msg::Message>> AgentDialog::next() {
    auto payload = reader_.pop();
    if (!payload) return pass(payload);
    if (!payload->has_value()) return std::optional<msg::Message>();
    auto message = msg::decode(**payload);
    if (!message) return pass(message);
    if (auto in_turn = check(*message); !in_turn) return pass(in_turn);
    return std::optional<msg::Message>(std::move(*message));
}

Status AgentDialog::check(const msg::Message& message) {
    const auto out_of_turn = [](const char* what) { return fail(Fault::protocol, "{} out of turn", what); };
    const auto expected = [this]() -> std::int64_t {
        const auto next = static_cast<std::size_t>(finished_);
        return next < plan_.runs.size() ? plan_.runs[next].seq : 0;
    };
    return std::visit(Overload{
                          [&](const msg::AgentHello& hello) -> Status {
                              if (hello_) return out_of_turn("a second hello");
                              if (hello.major != msg::protocol_major || (hello.minor < 2 && takes_minor_2(plan_))) {
                                  return fail(Fault::protocol, "speaks protocol {}.{}, this is {}.{}", hello.major,
                                              hello.minor, msg::protocol_major, msg::protocol_minor);
                              }
                              hello_ = true;
                              return {};
                          },
                          [&](const msg::RunStarted& run) -> Status {
                              if (!hello_ || ended_ || in_progress_ != 0 || run.seq == 0 || run.seq != expected()) {
                                  return fail(Fault::protocol, "run {} started out of turn", run.seq);
                              }
                              in_progress_ = run.seq;
                              return {};
                          },
                          [&](const msg::RunFinished& run) -> Status {
                              if (ended_ || in_progress_ == 0 || run.seq != in_progress_) {
                                  return fail(Fault::protocol, "run {} finished out of turn", run.seq);
                              }
                              in_progress_ = 0;
                              ++finished_;
                              return {};
                          },
                          [&](const msg::AgentError&) -> Status {
                              ended_ = true;  // may come before hello: last words
                              return {};
                          },
                          [&](const msg::AgentDone&) -> Status {
                              if (!hello_ || ended_ || in_progress_ != 0) return out_of_turn("done");
                              ended_ = true;
                              return {};
                          },
                          [&](const auto&) -> Status { return out_of_turn("a message that agents do not send"); },
                      },
                      message);
}

std::string plan_mismatch(const msg::AgentHello& hello, const BootPlan& plan) {
    // The kernel registers "tsc" a second after "tsc-early", the same counter at the same rate; the agent sees to it
    // that no other change happens.
    const std::string_view source = hello.clocksource == "tsc-early" ? "tsc" : std::string_view(hello.clocksource);
    const auto& planned = plan.clocksources;
    if (!planned.empty() && std::find(planned.begin(), planned.end(), source) == planned.end()) {
        return fmt::format("the guest's clocksource is {}, planned was {}: its times cannot be trusted",
                           hello.clocksource.empty() ? "unknown" : hello.clocksource, planned.front());
    }
    if (plan.timers && hello.high_resolution_inactive) {
        return "the kernel has high-resolution timers, but they are not in use";
    }
    if (plan.cpus != 0 && hello.cpus > plan.cpus) {
        return fmt::format("the guest has {} CPUs, planned were {}", hello.cpus, plan.cpus);
    }
    return {};
}

std::string missing_cpus(const msg::AgentHello& hello, const BootPlan& plan) {
    if (plan.cpus == 0 || hello.cpus >= plan.cpus) return {};
    return fmt::format("the kernel brought up {} of {} CPUs", hello.cpus, plan.cpus);
}

}  // namespace kab::qemu
