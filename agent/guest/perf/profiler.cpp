#include "agent/guest/perf/profiler.h"

#include <malloc.h>

#include <algorithm>

#include "agent/guest/perf/profile.h"

namespace kab::guest {

void Profiler::prepare(const msg::RunOrder& order) {
    sampler_.reset();
    trouble_.clear();
    if (order.profile.frequency_hz <= 0) return;
    const auto known = longest_.find({order.workload, order.point});
    auto sampler = Sampler::open(order.profile.frequency_hz, known == longest_.end() ? Nanoseconds{0} : known->second);
    if (sampler)
        sampler_.emplace(std::move(*sampler));
    else
        trouble_ = sampler.error().text();
}

void Profiler::finish(const msg::RunOrder& order, Nanoseconds elapsed, msg::RunFinished& finished) {
    auto& longest = longest_[{order.workload, order.point}];
    longest = std::max(longest, elapsed);
    if (order.profile.frequency_hz <= 0) return;
    if (auto made = make_profile(order, finished); !made) trouble_ = made.error().text();
    sampler_.reset();
    // The symbols are megabytes, which each fork of a later run would have to copy the page tables of.
    ::malloc_trim(0);
    if (trouble_.empty()) return;
    finished.profile.clear();
    finished.samples = Profile::no_metrics(order.profile.groups, trouble_);
}

Status Profiler::make_profile(const msg::RunOrder& order, msg::RunFinished& finished) {
    if (!sampler_) return {};  // trouble_ says why
    const auto symbols = KernelSymbols::load();
    if (!symbols) return pass(symbols);
    Profile profile(*symbols, order.profile.groups);
    const auto read = sampler_->read([&](const StackSample& sample) { profile.add(sample); });
    if (!read) return read;
    finished.samples = profile.metrics();
    finished.profile = profile.by_symbol();
    return {};
}

}  // namespace kab::guest
