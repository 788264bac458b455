#include "daemon/stats/compare.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "daemon/stats/distributions.h"
#include "daemon/stats/hodges_lehmann.h"
#include "daemon/stats/mann_whitney.h"
#include "daemon/stats/power.h"
#include "daemon/stats/signed_rank.h"
#include "daemon/stats/sorting.h"
#include "daemon/stats/welch.h"
#include "daemon/stats/words.h"

namespace kab::stats {
namespace {

void drop(Measured& m, std::string reason) {
    Comparison& row = m.row;
    m.usable = false;
    row.estimate.reset();
    row.p.reset();
    row.p_sequential.reset();
    row.p_rank.reset();
    row.p_equivalence.reset();
    row.rank_estimate.reset();
    row.detectable.reset();
    row.sd = row.t = row.df = 0;
    row.exact = false;
    row.reason = std::move(reason);
}

/// Why the data of two arms cannot be compared at all; empty when they can.
std::string obstacle(const Measured& m, const Pairs& pairs) {
    if (m.scale == Scale::log && pairs.not_positive > 0)
        return fmt::format("{} with values of 0 or below: a ratio needs positive values; use scale linear",
                           counted(pairs.not_positive, "boot"));
    if (pairs.d.size() < 2) {
        std::string why =
            pairs.d.empty() ? "no block has values of both arms" : "only one block has values of both arms";
        if (pairs.not_finite > 0)
            why += fmt::format(" ({} with values that are no numbers)", counted(pairs.not_finite, "boot"));
        return why + "; at least 2 are needed";
    }
    return {};
}

/// The rank counterpart of two one-sided tests: signed-rank of d + margin and d - margin.
double rank_equivalence(std::span<const double> ascending, double margin) {
    std::vector<double> shifted(ascending.begin(), ascending.end());
    for (auto& value : shifted) value += margin;
    const double upper = signed_rank_ascending(shifted).upper;
    for (std::size_t i = 0; i < shifted.size(); ++i) shifted[i] = ascending[i] - margin;
    return std::max(upper, signed_rank_ascending(shifted).lower);
}

/// The same of two samples: all of `arm` moved by the margin either way.
double rank_equivalence(std::span<const double> arm, std::span<const double> against, double margin) {
    std::vector<double> moved(arm.begin(), arm.end());
    for (auto& value : moved) value += margin;
    const double upper = mann_whitney(moved, against).upper;
    for (std::size_t i = 0; i < moved.size(); ++i) moved[i] = arm[i] - margin;
    return std::max(upper, mann_whitney(moved, against).lower);
}

void rank_row(Measured& m, std::vector<double> ascending) {
    sort_ascending(ascending);
    const SignedRank ranks = signed_rank_ascending(ascending);
    m.row.p_rank = ranks.p;
    m.rank_least_p = least_signed_rank_p(ranks.n);
    const HodgesLehmann shift = hodges_lehmann_ascending(ascending, 1 - 2 * m.level.nominal);
    to_estimate(shift.estimate, {shift.low, shift.high}, shift.level, m.scale, m.row.rank_estimate);
    if (m.equivalence.low > -m.margin && m.equivalence.high < m.margin)
        m.rank_equivalence_p = rank_equivalence(ascending, m.margin);
}

}  // namespace

bool to_estimate(double value, const Interval& interval, double level, Scale scale, std::optional<Estimate>& out) {
    Estimate estimate{value, interval.low, interval.high, level};
    if (scale == Scale::log) {
        estimate.value = std::exp(value);
        estimate.low = std::exp(interval.low);
        estimate.high = std::exp(interval.high);
    }
    if (!std::isfinite(estimate.value) || !std::isfinite(estimate.low) || !std::isfinite(estimate.high)) return false;
    out = estimate;
    return true;
}

void set_test(Measured& m, const PairedT& test) {
    m.test = test;
    m.usable = test.n >= 2;
    m.difference = t_interval(test, m.level.nominal);
    m.equivalence = t_interval(test, m.level.equivalence);
    // The same in every block: by the sign test, were the sign of a difference the toss of a coin.
    m.exact_p = test.n >= 1 ? std::ldexp(1.0, 1 - test.n) : 1;
}

void Judge::measure(Measured& m, const Pairs& pairs) {
    m.row.n = static_cast<int>(pairs.d.size());
    if (auto why = obstacle(m, pairs); !why.empty()) return drop(m, std::move(why));
    set_test(m, paired_t(pairs.d, pairs.tolerance));
    fill(m);
    if (m.usable && !m.test.exact) rank_row(m, pairs.d);
}

void Judge::measure_unpaired(Measured& m, const std::vector<double>& arm, const std::vector<double>& against,
                             double tolerance) {
    m.row.n = static_cast<int>(std::min(arm.size(), against.size()));
    const Welch welch_test = welch(arm, against);
    if (!welch_test.valid) return drop(m, "fewer than 2 boots of an arm have values");
    PairedT test;
    test.n = m.row.n;
    test.mean = welch_test.difference;
    test.exact = welch_test.exact || welch_test.standard_error <= tolerance;
    if (!test.exact) {
        test.standard_error = welch_test.standard_error;
        test.t = welch_test.t;
        test.df = welch_test.df;
        test.p = welch_test.p;
        // So that sd / sqrt(n) is the standard error, as in the paired case.
        test.sd = test.standard_error * std::sqrt(static_cast<double>(test.n));
    } else if (std::abs(test.mean) <= tolerance) {
        test.mean = 0;
    }
    set_test(m, test);
    const double na = static_cast<double>(arm.size()), nb = static_cast<double>(against.size());
    m.exact_p =
        std::min(1.0, 2 * std::exp(-log_choose(na + nb, na)));  // of Mann-Whitney, all of one arm beyond the other
    fill(m);
    if (!m.usable || m.test.exact) return;
    const MannWhitney ranks = mann_whitney(arm, against);
    m.row.p_rank = ranks.p;
    m.rank_least_p = least_mann_whitney_p(arm.size(), against.size());
    if (m.equivalence.low > -m.margin && m.equivalence.high < m.margin)
        m.rank_equivalence_p = rank_equivalence(arm, against, m.margin);
    const HodgesLehmann shift = hodges_lehmann_shift(arm, against, 1 - 2 * m.level.nominal);
    to_estimate(shift.estimate, {shift.low, shift.high}, shift.level, m.scale, m.row.rank_estimate);
}

void Judge::fill(Measured& m) {
    Comparison& row = m.row;
    row.exact = m.test.exact;
    row.sd = m.test.sd;
    if (!std::isfinite(m.test.mean) || !std::isfinite(m.test.sd) || !std::isfinite(m.test.t))
        return drop(m, "the values are too large to compute with");
    // Without variation the range of the differences covers their median with 1 - exact_p.
    const double level =
        m.test.exact && !m.exact_mode ? std::min(m.level.confidence, 1 - m.exact_p) : m.level.confidence;
    if (!to_estimate(m.test.mean, m.difference, level, m.scale, row.estimate))
        return drop(m, fmt::format("{} that vary so much give no interval", counted(row.n, m.noun)));
    if (m.test.exact) return fill_exact(m);
    row.t = m.test.t;
    row.df = m.test.df;
    row.p = m.test.p;
    row.p_sequential = repeated_.two_sided(m.test.p);
    if (m.margin > 0) row.p_equivalence = equivalence_p(m.test, m.margin);
    fill_detectable(m);
}

void Judge::fill_exact(Measured& m) {
    if (m.exact_mode) return;
    const double size = std::abs(m.test.mean);
    m.row.p = size > 0 ? m.exact_p : 1;
    m.row.p_sequential = repeated_.two_sided(*m.row.p);
    m.row.p_equivalence = size <= m.margin ? m.exact_p / 2 : 1;
}

void Judge::fill_detectable(Measured& m) {
    const auto key = std::pair(m.row.n, m.level.nominal);
    auto found = detectable_.find(key);
    if (found == detectable_.end()) found = detectable_.emplace(key, detectable_effect(m.row.n, m.level.nominal)).first;
    if (!found->second) return;
    const double effect = *found->second * m.test.sd;
    const double shown = m.scale == Scale::log ? std::expm1(effect) : effect;
    if (std::isfinite(shown)) m.row.detectable = shown;
}

}  // namespace kab::stats
