#include "daemon/stats/verdict.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "daemon/stats/power.h"
#include "daemon/stats/words.h"

namespace kab::stats {

const char* to_string(Verdict verdict) {
    switch (verdict) {
        case Verdict::invalid: return "invalid";
        case Verdict::equivalent: return "equivalent";
        case Verdict::improved: return "improved";
        case Verdict::regressed: return "regressed";
        case Verdict::inconclusive: return "inconclusive";
        case Verdict::pending: return "pending";
        case Verdict::none: return "none";
    }
    return "none";
}

bool differs(const Measured& m) {
    return m.usable && (m.difference.low > 0 || m.difference.high < 0);
}

bool inside_margin(const Measured& m) {
    if (!m.usable) return false;
    if (m.test.exact) return std::abs(m.test.mean) <= m.margin;
    return m.equivalence.low > -m.margin && m.equivalence.high < m.margin;
}

bool beyond_margin(const Measured& m) {
    return differs(m) && (m.difference.low > m.margin || m.difference.high < -m.margin);
}

namespace {

/// Does the signed-rank test say otherwise? A few blocks cannot give it a small p: the least they can
/// give then counts as agreement.
bool rank_disagrees(const Measured& m, bool difference, bool equivalent) {
    if (m.test.exact || !m.row.p_rank) return false;
    const double level = 2 * m.level.nominal;
    const bool rank_differs = *m.row.p_rank <= std::max(level, m.rank_least_p) * (1 + 1e-9);
    if (equivalent) return m.rank_equivalence_p > std::max(m.level.equivalence, m.rank_least_p / 2) * (1 + 1e-9);
    if (difference) return !rank_differs;
    return *m.row.p_rank <= level;
}

Verdict direction(const Measured& m) {
    if (m.better == Better::neither) return Verdict::none;
    const bool up = m.test.mean > 0;
    return up == (m.better == Better::higher) ? Verdict::improved : Verdict::regressed;
}

std::string margin_text(const Measured& m) {
    if (m.scale == Scale::log) return plain_percent(m.row.margin);
    return fmt::format("{:.4g}{}", m.row.margin, m.unit.empty() || m.unit == "1" ? "" : " " + m.unit);
}

/// What follows from the numbers, after the colon.
std::string conclusion(const Measured& m) {
    const bool margin = m.row.margin > 0;
    switch (m.row.verdict) {
        case Verdict::equivalent:
            if (m.test.exact && m.test.mean == 0) return "exactly the same";
            return fmt::format("equivalent within {}{}", margin_text(m),
                               differs(m) ? ", though the small difference is real" : "");
        case Verdict::improved:
        case Verdict::regressed:
            if (!margin) return to_string(m.row.verdict);
            return fmt::format("{}, {}", to_string(m.row.verdict),
                               m.row.material ? "by more than the margin of " + margin_text(m)
                                              : "though perhaps by less than the margin of " + margin_text(m));
        case Verdict::none:
            if (m.row.control) return differs(m) ? "the control differs" : "no difference, as it should be";
            return differs(m) ? "it differs; this metric is better in neither direction" : "no difference shown";
        default:
            if (margin) return fmt::format("neither a difference nor equivalence within {} is shown", margin_text(m));
            return "no difference is shown";
    }
}

std::string subject(const Measured& m, const std::vector<ArmInfo>& arms) {
    const auto name = [&](int arm) { return arms[static_cast<std::size_t>(arm)].name; };
    std::string metric = m.row.workload.empty() ? m.row.metric : m.row.workload + "/" + m.row.metric;
    if (!m.point.empty()) metric += " (" + m.point + ")";
    return fmt::format("{} against {}, {}", name(m.row.arm), name(m.row.against), metric);
}

}  // namespace

void judge(Measured& m, bool significant, Verdict open) {
    Comparison& row = m.row;
    row.material = false;
    const bool difference = differs(m) && significant;
    const bool equivalent = inside_margin(m);
    if (equivalent) {
        row.verdict = Verdict::equivalent;
    } else if (difference) {
        row.verdict = direction(m);
        row.material = beyond_margin(m);
    } else {
        row.verdict = open;
    }
    row.fragile = m.usable && rank_disagrees(m, difference, equivalent);
}

std::optional<std::string> gate_failure(const Measured& control, const std::vector<ArmInfo>& arms) {
    if (!differs(control)) return std::nullopt;
    const auto& row = control.row;
    return fmt::format("the control {} differs from {} though it is the same kernel ({} in {}/{})",
                       arms[static_cast<std::size_t>(row.arm)].name, arms[static_cast<std::size_t>(row.against)].name,
                       change(row.estimate->value, control.scale, control.unit), row.workload, row.metric);
}

std::string sentence(const Measured& m, const std::vector<ArmInfo>& arms, const std::string& cause) {
    if (!m.usable) return fmt::format("{}: not compared, {}", subject(m, arms), m.row.reason);
    const Estimate& e = *m.row.estimate;
    const std::string value = change(e.value, m.scale, m.unit), n = counted(m.row.n, "block");
    std::string text;
    if (m.test.exact) {
        text = fmt::format("{}: exactly {} in each of {}", subject(m, arms), value, n);
    } else {
        text = fmt::format("{}: {} ({:.4g}% interval {} to {}, {}", subject(m, arms), value, 100 * e.level,
                           change(e.low, m.scale, m.unit), change(e.high, m.scale, m.unit), n);
        if (m.row.p_adjusted)
            text += ", adjusted " + p_text(*m.row.p_adjusted);
        else if (m.row.p)
            text += ", " + p_text(*m.row.p);
        text += ")";
    }
    if (m.row.verdict == Verdict::invalid) return text + ": invalid, " + cause;
    text += ": " + conclusion(m);
    if (m.row.fragile) text += "; fragile: the rank test does not agree";
    return text;
}

std::optional<int> blocks_still_needed(const Measured& m) {
    if (!m.usable || m.test.exact || !(m.test.sd > 0)) return std::nullopt;
    constexpr double power = 0.8;
    const double effect = m.test.mean / m.test.sd;
    const auto difference = blocks_for_difference(effect, m.level.fixed, power);
    const auto equivalence = blocks_for_equivalence(effect, m.margin / m.test.sd, m.level.fixed_equivalence, power);
    std::optional<int> best = difference;
    if (equivalence && (!best || *equivalence < *best)) best = equivalence;
    if (!best) return std::nullopt;
    return std::max(1, *best - m.row.n);
}

Verdict worst(const std::vector<Verdict>& verdicts) {
    constexpr std::array order{Verdict::invalid,    Verdict::regressed, Verdict::inconclusive, Verdict::pending,
                               Verdict::equivalent, Verdict::improved,  Verdict::none};
    for (const Verdict candidate : order)
        if (std::find(verdicts.begin(), verdicts.end(), candidate) != verdicts.end()) return candidate;
    return Verdict::none;
}

}  // namespace kab::stats
