#include "agent/guest/perf/profile.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "common/workload_catalog.h"

namespace kab::guest {
namespace {

constexpr std::int64_t nowhere = -1, unknown = -2, user_space = -3;

/// A finished run is one message, which has its bound; a run has a few hundred.
constexpr std::size_t most_symbols = 4000;

constexpr const char* samples_metric = "profile-samples";
constexpr const char* no_samples =
    "not one sample: the run was too short for the profile's frequency, or every CPU was idle";
constexpr const char* none_in_the_kernel = "not one of the samples was in the kernel";

msg::Sample made(std::string metric) {
    msg::Sample sample;
    sample.metric = std::move(metric);
    return sample;
}

bool any(const std::vector<bool>& flags) {
    return std::find(flags.begin(), flags.end(), true) != flags.end();
}

}  // namespace

Profile::Profile(const KernelSymbols& symbols, const std::vector<msg::ProfileGroup>& groups) : symbols_(symbols) {
    for (const auto& order : groups)
        groups_.push_back({order, symbols.called(order.symbols), symbols.called(order.callers)});
}

Profile::Place Profile::place_of(std::uint64_t address) const {
    const auto function = symbols_.find(address);
    return function ? Place{*function} : unknown;
}

bool Profile::Group::has(Place place) const {
    return place >= 0 && symbols[static_cast<std::size_t>(place)];
}

bool Profile::in_a_group(Place place) const {
    return std::any_of(groups_.begin(), groups_.end(), [&](const Group& group) { return group.has(place); });
}

bool Profile::in_one_group(Place one, Place other) const {
    return std::any_of(groups_.begin(), groups_.end(),
                       [&](const Group& group) { return group.has(one) && group.has(other); });
}

Profile::Place Profile::caller_of(const StackSample& sample, Place sampled) const {
    if (!symbols_.has_callers()) return nowhere;
    for (const std::uint64_t address : sample.callers) {
        // A call may be the last instruction of its function: what it returns to belongs to the next.
        const Place place = place_of(address - 1);
        if (!in_one_group(sampled, place)) return place;
    }
    return unknown;
}

void Profile::add(const StackSample& sample) {
    const Place place = sample.user ? user_space : place_of(sample.address);
    ++counts_[{place, in_a_group(place) ? caller_of(sample, place) : nowhere}];
    ++samples_;
    if (!sample.user) ++kernel_samples_;
}

std::string Profile::name_of(Place place) const {
    if (place == nowhere) return "";
    if (place == unknown) return "[unknown]";
    if (place == user_space) return "[user]";
    return std::string(symbols_.name(static_cast<KernelSymbols::Function>(place)));
}

std::vector<msg::ProfileSymbol> Profile::by_symbol() const {
    std::vector<msg::ProfileSymbol> found;
    for (const auto& [places, samples] : counts_)
        found.push_back({name_of(places.first), name_of(places.second), samples});
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
        return std::tuple(-a.samples, a.symbol, a.caller) < std::tuple(-b.samples, b.symbol, b.caller);
    });
    if (found.size() <= most_symbols) return found;
    msg::ProfileSymbol rest{"[rest]", "", 0};
    for (std::size_t i = most_symbols - 1; i < found.size(); ++i) rest.samples += found[i].samples;
    found.resize(most_symbols - 1);
    found.push_back(std::move(rest));
    return found;
}

msg::Sample Profile::share(const Group& group) const {
    const msg::ProfileGroup& order = group.order;
    msg::Sample share = made(std::string(share_prefix) + order.name);
    const bool by_caller = !order.callers.empty();
    const std::int64_t all = order.of_kernel ? kernel_samples_ : samples_;
    if (all == 0) {
        share.reason = samples_ == 0 ? no_samples : none_in_the_kernel;
    } else if (!any(group.symbols)) {
        share.reason = fmt::format("no function of this kernel is called {}", fmt::join(order.symbols, " or "));
    } else if (by_caller && !symbols_.has_callers()) {
        share.reason = "this kernel cannot tell callers (needs CONFIG_UNWINDER_FRAME_POINTER or CONFIG_UNWINDER_ORC)";
    } else if (by_caller && !any(group.callers)) {
        share.reason = fmt::format("no function of this kernel is called {}", fmt::join(order.callers, " or "));
    } else {
        std::int64_t hits = 0;
        for (const auto& [places, samples] : counts_) {
            const auto [place, caller] = places;
            if (!group.has(place)) continue;
            if (by_caller && (caller < 0 || !group.callers[static_cast<std::size_t>(caller)])) continue;
            hits += samples;
        }
        share.value = static_cast<double>(hits) / static_cast<double>(all);
    }
    return share;
}

std::vector<msg::Sample> Profile::metrics() const {
    std::vector<msg::Sample> all;
    for (const auto& group : groups_) all.push_back(share(group));
    all.push_back(made(samples_metric));
    if (samples_ > 0)
        all.back().value = static_cast<double>(samples_);
    else
        all.back().reason = no_samples;
    return all;
}

std::vector<msg::Sample> Profile::no_metrics(const std::vector<msg::ProfileGroup>& groups, const std::string& reason) {
    std::vector<msg::Sample> all;
    for (const auto& group : groups) all.push_back(made(std::string(share_prefix) + group.name));
    all.push_back(made(samples_metric));
    for (auto& sample : all) sample.reason = reason;
    return all;
}

}  // namespace kab::guest
