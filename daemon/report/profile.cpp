#include "daemon/report/profile.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "daemon/stats/multiplicity.h"
#include "daemon/stats/paired.h"

namespace kab::report {
namespace {

using Boot = ProfiledBoot;
using Shares = std::map<Boot, double>;

/// Everything sampled at one point.
struct Samples {
    std::set<Boot> boots;
    std::map<std::string, Shares> symbols;
    std::map<std::string, std::map<std::string, Shares>> callers;  ///< by symbol
};

std::int64_t last_block(const ReportInput& report) {
    if (report.look < 0) return std::numeric_limits<std::int64_t>::max();
    return report.input.design.looks[static_cast<std::size_t>(report.look)];
}

/// By workload and point.
std::map<std::pair<std::string, std::string>, Samples> all_samples(const ReportInput& report) {
    std::map<std::string, int> arms;
    for (std::size_t i = 0; i < report.input.arms.size(); ++i) arms[report.input.arms[i].name] = static_cast<int>(i);
    std::map<std::pair<std::string, std::string>, Samples> all;
    const auto last = last_block(report);
    for (const auto& row : report.profile) {
        const auto arm = arms.find(row.arm);
        if (arm == arms.end() || row.block > last) continue;
        auto& samples = all[{row.workload, row.point}];
        const Boot boot{arm->second, row.block};
        samples.boots.insert(boot);
        samples.symbols[row.symbol][boot] += row.share;
        if (!row.caller.empty()) samples.callers[row.symbol][row.caller][boot] += row.share;
    }
    return all;
}

double at(const Shares& shares, const Boot& boot) {
    const auto found = shares.find(boot);
    return found == shares.end() ? 0 : found->second;
}

std::optional<ShareDifference> difference(const ReportInput& report, const Samples& samples, const Shares& shares,
                                          int arm) {
    const int against = report.input.arms[static_cast<std::size_t>(arm)].against;
    if (against < 0) return std::nullopt;
    std::vector<double> differences;
    for (const auto& boot : samples.boots)
        if (boot.first == arm && samples.boots.contains({against, boot.second}))
            differences.push_back(at(shares, boot) - at(shares, {against, boot.second}));
    if (differences.empty()) return std::nullopt;
    const auto test = stats::paired_t(differences);
    ShareDifference found;
    found.n = test.n;
    found.value = test.mean;
    if (test.n < 2) return found;
    const auto interval = stats::t_interval(test, report.input.design.alpha / 2);
    found.low = interval.low;
    found.high = interval.high;
    if (!test.exact) found.p = test.p;
    return found;
}

class Composer {
  public:
    Composer(const ReportInput& report, const Samples& samples, const std::string& workload, const std::string& point)
        : report_(report), samples_(samples) {
        result_.workload = workload;
        result_.point = point;
        result_.boots.assign(report.input.arms.size(), 0);
        for (const auto& boot : samples_.boots) ++result_.boots[static_cast<std::size_t>(boot.first)];
    }

    PointProfile compose() {
        std::vector<ProfileLine> symbols;
        for (const auto& [symbol, shares] : samples_.symbols) add(symbol, "", shares, symbols);
        sort(symbols);
        for (auto& line : symbols) {
            std::vector<ProfileLine> callers;
            if (const auto found = samples_.callers.find(line.symbol); found != samples_.callers.end())
                for (const auto& [caller, shares] : found->second) add(line.symbol, caller, shares, callers);
            sort(callers);
            result_.lines.push_back(std::move(line));
            for (auto& caller : callers) result_.lines.push_back(std::move(caller));
        }
        adjust();
        return std::move(result_);
    }

  private:
    double largest(const ProfileLine& line) const {
        double most = 0;
        for (std::size_t arm = 0; arm < line.share.size(); ++arm)
            if (report_.input.arms[arm].question()) most = std::max(most, line.share[arm].value_or(0));
        return most;
    }
    void sort(std::vector<ProfileLine>& lines) const {
        std::stable_sort(lines.begin(), lines.end(),
                         [this](const auto& a, const auto& b) { return largest(a) > largest(b); });
    }

    void add(const std::string& symbol, const std::string& caller, const Shares& shares,
             std::vector<ProfileLine>& lines) const {
        ProfileLine line;
        line.symbol = symbol;
        line.caller = caller;
        for (std::size_t arm = 0; arm < report_.input.arms.size(); ++arm) {
            double sum = 0;
            for (const auto& [boot, share] : shares)
                if (boot.first == static_cast<int>(arm)) sum += share;
            const int boots = result_.boots[arm];
            line.share.push_back(boots > 0 ? std::optional(sum / boots) : std::nullopt);
        }
        if (largest(line) < least_share) return;
        for (std::size_t arm = 0; arm < report_.input.arms.size(); ++arm)
            line.difference.push_back(difference(report_, samples_, shares, static_cast<int>(arm)));
        for (const auto& boot : samples_.boots) line.boots[boot] = at(shares, boot);
        lines.push_back(std::move(line));
    }

    void adjust() {
        for (std::size_t arm = 0; arm < report_.input.arms.size(); ++arm) {
            std::vector<double> p;
            std::vector<ShareDifference*> tested;
            for (auto& line : result_.lines) {
                auto& difference = line.difference[arm];
                if (!difference || !difference->p) continue;
                p.push_back(*difference->p);
                tested.push_back(&*difference);
            }
            const auto adjusted = stats::benjamini_hochberg(p);
            for (std::size_t i = 0; i < tested.size(); ++i) tested[i]->p_adjusted = adjusted[i];
        }
    }

    const ReportInput& report_;
    const Samples& samples_;
    PointProfile result_;
};

}  // namespace

std::vector<PointProfile> profiles(const ReportInput& report) {
    std::vector<PointProfile> found;
    const auto all = all_samples(report);
    for (const auto& point : report.tree.points) {
        const auto samples = all.find({point.workload, point.label});
        if (samples == all.end()) continue;
        auto profile = Composer(report, samples->second, point.workload, point.label).compose();
        if (!profile.lines.empty()) found.push_back(std::move(profile));
    }
    return found;
}

}  // namespace kab::report
