#include "agent/guest/perf/meter.h"

#include <time.h>

#include "agent/guest/exact.h"
#include "agent/guest/text.h"

namespace kab::guest {
namespace {

msg::Sample busy_sample(const char* metric, const Result<IdleSnapshot>& from, const Result<IdleSnapshot>& to) {
    msg::Sample absent;
    absent.metric = metric;
    if (!from || !to) {
        absent.reason = (from ? to : from).error().text();
        return absent;
    }
    const auto busy = busy_between(*from, *to);
    if (busy) return sample(metric, static_cast<double>(*busy));
    absent.reason = busy.error().text();
    return absent;
}

}  // namespace

namespace {

/// In steps of 10 ms it would be no use here.
Result<IdleSnapshot> fine_idle() {
    const auto text = read_text("/proc/timer_list");
    auto snapshot = text ? idle_from_timer_list(*text) : Result<IdleSnapshot>(fail(Fault::not_found, "no such file"));
    if (snapshot) return snapshot;
    return fail(Fault::not_found, "/proc/timer_list tells no idle times: the kernel needs CONFIG_NO_HZ_IDLE");
}

}  // namespace

std::int64_t raw_clock_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC_RAW, &now);  // cannot fail: the clock exists since 2.6.28
    return std::int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

msg::Sample sample(std::string metric, double value) {
    msg::Sample made;
    made.metric = std::move(metric);
    made.value = value;
    return made;
}

Meter::Meter(const std::vector<std::string>& counters, Sampler* sampler) : sampler_(sampler) {
    if (!counters.empty()) counters_ = CounterSet::open(counters);
}

Status Meter::start() {
    if (counters_)
        idle_at_start_ = idle_now();
    else if (timer_phase_ns_)
        idle_at_start_ = fine_idle();
    // From here on the CPU is not idle: what was read stays true until the clock starts.
    if (timer_phase_ns_) await_timer_phase(*timer_phase_ns_);
    if (counters_) {
        if (auto enabled = counters_->enable(); !enabled) return enabled;
    }
    if (sampler_ != nullptr)
        if (auto enabled = sampler_->enable(); !enabled) return enabled;
    started_ns_ = raw_clock_ns();
    return {};
}

Status Meter::stop() {
    stopped_ns_ = raw_clock_ns();
    if (sampler_ != nullptr)
        if (auto disabled = sampler_->disable(); !disabled) return disabled;
    if (!counters_) {
        if (timer_phase_ns_) idle_at_stop_ = fine_idle();
        return {};
    }
    auto disabled = counters_->disable();
    idle_at_stop_ = idle_now();
    return disabled;
}

std::vector<msg::Sample> Meter::exact_samples() const {
    std::vector<msg::Sample> samples(2);
    samples[0].metric = "busy";
    samples[1].metric = "idle";
    if (!idle_at_start_ || !idle_at_stop_) {
        for (auto& one : samples) one.reason = (idle_at_start_ ? idle_at_stop_ : idle_at_start_).error().text();
        return samples;
    }
    const auto idle = idle_at_stop_->idle_ns - idle_at_start_->idle_ns;
    samples[0].value = static_cast<double>(elapsed_ns() - idle);
    samples[1].value = static_cast<double>(idle);
    return samples;
}

msg::Sample Meter::drain_busy() const {
    return busy_sample("drain-busy", idle_at_stop_, idle_now());
}

Result<std::vector<msg::Sample>> Meter::counted_samples() const {
    if (!counters_) return fail(Fault::internal, "a meter without counters was asked for them");
    auto samples = counters_->read();
    if (!samples) return samples;
    samples->push_back(sample("counted-elapsed", static_cast<double>(elapsed_ns())));
    samples->push_back(busy_sample("machine-busy", idle_at_start_, idle_at_stop_));
    return samples;
}

}  // namespace kab::guest
