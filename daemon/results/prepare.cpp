#include "daemon/results/prepare.h"

#include <algorithm>
#include <map>
#include <set>

#include "common/suggest.h"

namespace kab::results {
namespace {

bool matches(const Metric& metric, const std::string& name) {
    return name == metric.name || name == full_name(metric) || (!metric.workload.empty() && name == metric.workload);
}

class Preparation {
  public:
    Preparation(Merged merged, const Request& request) : merged_(std::move(merged)), request_(request) {}

    Result<Prepared> run() {
        for (const auto* list : {&request_.metrics, &request_.higher, &request_.linear})
            for (const auto& name : *list)
                if (const auto known = check_name(name); !known) return pass(known);
        if (const auto done = leave_out_lonely(); !done) return pass(done);
        select();
        add_arms();
        decide_pairing();
        for (const auto& metric : chosen_) add_series(*metric);
        if (!out_.blocks) out_.input.design.paired = false;
        out_.input.design.alpha = request_.alpha;
        out_.input.design.margin = request_.margin;
        out_.input.design.relative_margin = out_.input.design.fixed = true;
        out_.notes.insert(out_.notes.begin(), merged_.notes.begin(), merged_.notes.end());
        out_.absent = std::move(merged_.absent);
        return std::move(out_);
    }

  private:
    Status check_name(const std::string& name) const {
        std::vector<std::string> names, all;
        for (const auto& metric : merged_.metrics) {
            if (matches(metric, name)) return {};
            names.push_back(full_name(metric));
            all.push_back(metric.name);
        }
        all.insert(all.end(), names.begin(), names.end());
        const auto near = suggest(name, all);
        std::string text;
        for (std::size_t i = 0; i < names.size() && i < 8; ++i) text += (i == 0 ? "" : ", ") + names[i];
        if (names.size() > 8) text += fmt::format(", ... ({} in all)", names.size());
        return fail(Fault::usage, "there is no metric '{}'{}; there are: {}", name,
                    near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near), text);
    }

    /// Metrics that only one side has.
    Status leave_out_lonely() {
        std::map<std::string, std::vector<std::string>> lonely;  // why -> metrics
        std::vector<Metric> kept;
        for (auto& metric : merged_.metrics) {
            std::set<int> arms;
            for (const auto& value : metric.values) arms.insert(value.arm);
            if (arms.contains(0) && arms.size() > 1) {
                kept.push_back(std::move(metric));
                continue;
            }
            const auto& first = merged_.arms[static_cast<std::size_t>(*arms.begin())];
            const auto why = arms.size() == 1 ? "only " + first + " has" : "the baseline " + merged_.arms[0] + " lacks";
            lonely[why].push_back(full_name(metric));
        }
        for (const auto& [why, names] : lonely) {
            std::string text;
            for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
            out_.notes.push_back(fmt::format("{} {}: not compared", why, text));
        }
        merged_.metrics = std::move(kept);
        if (merged_.metrics.empty()) {
            std::string text = "the baseline shares no metric with another arm";
            for (const auto& note : out_.notes) text += "; " + note;
            return fail(Fault::usage, "{}", text);
        }
        for (const auto& name : request_.metrics)
            if (std::none_of(merged_.metrics.begin(), merged_.metrics.end(),
                             [&](const Metric& metric) { return matches(metric, name); }))
                return fail(Fault::usage, "metric '{}' has values on one side only", name);
        return {};
    }

    void select() {
        const auto take = [&](const std::string& name) {
            for (auto& metric : merged_.metrics)
                if (matches(metric, name) && std::find(chosen_.begin(), chosen_.end(), &metric) == chosen_.end())
                    chosen_.push_back(&metric);
        };
        if (!request_.metrics.empty()) {
            take(request_.metrics.front());
            primaries_ = chosen_.size();
            for (const auto& name : request_.metrics) take(name);
            std::string left;
            for (auto& metric : merged_.metrics)
                if (std::find(chosen_.begin(), chosen_.end(), &metric) == chosen_.end())
                    left += (left.empty() ? "" : ", ") + full_name(metric);
            if (!left.empty()) out_.notes.push_back("not asked for: " + left);
            return;
        }
        const std::string first = merged_.metrics.front().name;
        for (const bool primary : {true, false}) {
            for (auto& metric : merged_.metrics)
                if ((metric.name == first) == primary) chosen_.push_back(&metric);
            if (primary) primaries_ = chosen_.size();
        }
    }

    void add_arms() {
        for (std::size_t i = 0; i < merged_.arms.size(); ++i) {
            stats::ArmInfo arm;
            arm.name = merged_.arms[i];
            arm.against = i == 0 ? -1 : 0;
            arm.boots = merged_.runs[i];
            arm.failed = merged_.failed[i];
            out_.input.arms.push_back(std::move(arm));
        }
    }

    /// Blocks pair when every value has one and each arm shares two with the baseline.
    void decide_pairing() {
        bool any = false, all = true;
        std::map<int, std::set<int>> of;  // arm -> blocks of the first metric
        for (const auto* metric : chosen_)
            for (const auto& value : metric->values) {
                any |= value.block.has_value();
                all &= value.block.has_value();
                if (value.block && metric == chosen_.front()) of[value.arm].insert(*value.block);
            }
        out_.blocks = all;
        for (const auto& [arm, blocks] : of) {
            std::size_t common = 0;
            for (const int block : blocks) common += of[0].contains(block) ? 1 : 0;
            if (all && arm != 0 && common < 2) {
                out_.blocks = false;
                out_.notes.push_back(fmt::format("{} and {} share fewer than two blocks: they are not paired",
                                                 merged_.arms[0], merged_.arms[static_cast<std::size_t>(arm)]));
            }
        }
        if (any && !all) out_.notes.emplace_back("not every value has a block: the arms are not paired");
        if (any && !out_.blocks) out_.notes.emplace_back("the runs of a block of one arm count as one, by their mean");
    }

    void add_series(Metric& metric) {
        const int index = static_cast<int>(out_.input.series.size());
        stats::Series series;
        series.workload = metric.workload;
        series.metric = metric.name;
        series.unit = metric.unit;
        series.better = metric.better.value_or(Better::lower);
        series.primary = static_cast<std::size_t>(index) < primaries_;
        const auto asked = [&](const std::vector<std::string>& names) {
            return std::any_of(names.begin(), names.end(),
                               [&](const std::string& name) { return matches(metric, name); });
        };
        if (asked(request_.higher)) series.better = Better::higher;
        const bool odd = std::any_of(metric.values.begin(), metric.values.end(),
                                     [](const Value& value) { return !(value.value > 0); });
        series.scale = metric.scale.value_or(odd ? Scale::linear : Scale::log);
        if (asked(request_.linear)) series.scale = Scale::linear;
        if (odd && !metric.scale && !asked(request_.linear))
            out_.notes.push_back(full_name(metric) +
                                 " has values of 0 or below: compared as a difference, not as a ratio");
        out_.input.series.push_back(series);
        add_values(metric, index);
    }

    /// Unpaired each unit (a block, or a run without one) has a number of its own within its arm.
    void add_values(const Metric& metric, int series) {
        std::map<std::pair<int, int>, int> unit_of;  // arm, block
        std::map<int, int> units;                    // arm
        for (const auto& value : metric.values) {
            stats::Observation observation{0, value.arm, series, value.iteration, value.value};
            if (out_.blocks) {
                observation.block = *value.block;
            } else if (value.block) {
                const auto [found, fresh] = unit_of.emplace(std::pair(value.arm, *value.block), 0);
                if (fresh) found->second = ++units[value.arm];
                observation.block = found->second;
            } else {
                observation.block = ++units[value.arm];
                observation.iteration = 0;
            }
            out_.input.observations.push_back(observation);
        }
    }

    Merged merged_;
    const Request& request_;
    std::vector<Metric*> chosen_;
    std::size_t primaries_ = 0;
    Prepared out_;
};

}  // namespace

Result<Prepared> prepare(std::vector<File> files, const Request& request) {
    auto merged = merge(std::move(files), request.baseline);
    if (!merged) return pass(merged);
    return Preparation(std::move(*merged), request).run();
}

}  // namespace kab::results
