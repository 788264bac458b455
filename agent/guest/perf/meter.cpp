#include "agent/guest/perf/meter.h"

#include <time.h>

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

Meter::Meter(const std::vector<std::string>& counters) {
    if (!counters.empty()) counters_ = CounterSet::open(counters);
}

Status Meter::start() {
    if (counters_) {
        idle_at_start_ = idle_now();
        if (auto enabled = counters_->enable(); !enabled) return enabled;
    }
    started_ns_ = raw_clock_ns();
    return {};
}

Status Meter::stop() {
    stopped_ns_ = raw_clock_ns();
    if (!counters_) return {};
    auto disabled = counters_->disable();
    idle_at_stop_ = idle_now();
    return disabled;
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
