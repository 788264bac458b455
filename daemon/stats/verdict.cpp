#include "daemon/stats/verdict.h"

#include <fmt/compile.h>
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

namespace {

/// At the given level of a single test, each side.
bool differs_at(const Measured& m, double nominal) {
    if (!m.usable) return false;
    if (m.test.exact) return m.test.mean != 0 && (m.exact_mode || m.exact_p <= 2 * nominal);
    const Interval interval = t_interval(m.test, nominal);
    return interval.low > 0 || interval.high < 0;
}

}  // namespace

bool differs(const Measured& m) {
    if (m.test.exact) return differs_at(m, m.level.nominal);
    return m.usable && (m.difference.low > 0 || m.difference.high < 0);
}

bool inside_margin(const Measured& m) {
    if (!m.usable) return false;
    if (m.test.exact)
        return std::abs(m.test.mean) <= m.margin && (m.exact_mode || m.exact_p / 2 <= m.level.equivalence);
    return m.equivalence.low > -m.margin && m.equivalence.high < m.margin;
}

bool beyond_margin(const Measured& m) {
    return (m.margin > 0 || m.exact_mode) && differs(m) &&
           (m.difference.low > m.margin || m.difference.high < -m.margin);
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

std::string difference_text(const Measured& m) {
    if (!(m.row.margin > 0)) return to_string(m.row.verdict);
    if (!m.row.material) {
        return fmt::format("{}, though perhaps by less than the margin of {}", to_string(m.row.verdict),
                           margin_text(m));
    }
    return fmt::format("{}, by more than the margin of {}", to_string(m.row.verdict), margin_text(m));
}

std::string open_text(const Measured& m) {
    if (m.row.same_code && differs(m))
        return "it differs, but the machine code is the same: no claim can be made of that";
    std::string text = "no difference is shown";
    if (m.row.margin > 0) text = fmt::format("neither a difference nor equivalence within {} is shown", margin_text(m));
    if (!m.row.more_blocks) return text;
    return text + fmt::format("; about {} more {}{} would likely settle it", *m.row.more_blocks, m.noun,
                              *m.row.more_blocks == 1 ? "" : "s");
}

/// What follows from the numbers, after the colon.
std::string conclusion(const Measured& m) {
    switch (m.row.verdict) {
        case Verdict::invalid: return "invalid, " + m.row.reason;
        case Verdict::equivalent:
            if (m.test.exact && m.test.mean == 0) return "equivalent, exactly the same";
            if (m.exact_mode && m.test.exact)
                return fmt::format("equivalent within {}, though not the same", margin_text(m));
            return fmt::format(FMT_COMPILE("equivalent within {}{}"), margin_text(m),
                               differs(m) ? ", though the small difference is statistically significant" : "");
        case Verdict::improved:
        case Verdict::regressed: return m.row.failing ? "regressed, " + m.row.reason : difference_text(m);
        case Verdict::none:
            if (m.row.relinked)
                return differs(m) ? "the placement of code alone moves it"
                                  : "placement of code is not shown to move it";
            if (m.row.control) return differs(m) ? "the control differs" : "no difference is shown, as it should be";
            return differs(m) ? "it differs; this metric is better in neither direction" : "no difference shown";
        case Verdict::inconclusive:
        case Verdict::pending: return open_text(m);
    }
    return "";
}

std::string subject(const Measured& m, const std::vector<ArmInfo>& arms) {
    const auto name = [&](int arm) { return arms[static_cast<std::size_t>(arm)].name; };
    std::string metric = m.row.workload.empty() ? m.row.metric : m.row.workload + "/" + m.row.metric;
    if (!m.point.empty()) metric += " (" + m.point + ")";
    return fmt::format(FMT_COMPILE("{} against {}, {}"), name(m.row.arm), name(m.row.against), metric);
}

/// "+3.1% (95% interval +1.0% to +5.2%, 10 blocks, p = 0.001)"
std::string figures(const Measured& m, const Estimate& e, std::optional<double> p, const char* p_name) {
    const std::string value = change(e.value, m.scale, m.unit), n = counted(m.row.n, m.noun);
    const std::string p_part = p ? fmt::format(FMT_COMPILE(", {}{}"), p_name, p_text(*p)) : "";
    if (m.test.exact)
        return fmt::format("exactly {} in each of {}{}", value, n, p ? " (" + p_part.substr(2) + ")" : "");
    return fmt::format(FMT_COMPILE("{} ({:.4g}% interval {} to {}, {}{})"), value, 100 * e.level,
                       change(e.low, m.scale, m.unit), change(e.high, m.scale, m.unit), n, p_part);
}

std::string figures(const Measured& m) {
    if (m.row.p_adjusted) return figures(m, *m.row.estimate, m.row.p_adjusted, "adjusted ");
    return figures(m, *m.row.estimate, m.row.p, "");
}

}  // namespace

void judge(Measured& m, bool significant, Verdict open) {
    Comparison& row = m.row;
    row.material = false;
    const bool difference = differs(m), equivalent = inside_margin(m);
    if (equivalent) {
        row.verdict = Verdict::equivalent;
    } else if (difference && significant && !row.same_code) {
        row.verdict = direction(m);
        row.material = beyond_margin(m);
    } else {
        row.verdict = open;
    }
    // Against the t test itself, whatever else a secondary's difference needs.
    row.fragile = m.usable && rank_disagrees(m, difference, equivalent);
}

std::optional<std::string> gate_failure(const Measured& m, const std::vector<ArmInfo>& arms) {
    if (!differs_at(m, m.gate.nominal)) return std::nullopt;
    Estimate estimate = *m.row.estimate;
    std::optional<Estimate> at_gate;
    const Interval interval = t_interval(m.test, m.gate.nominal);
    if (to_estimate(m.test.mean, interval, m.gate.confidence, m.scale, at_gate)) estimate = *at_gate;
    return fmt::format("{}{} differs from {} though it is the same {}: {}/{} {}", m.row.control ? "the control " : "",
                       arms[static_cast<std::size_t>(m.row.arm)].name,
                       arms[static_cast<std::size_t>(m.row.against)].name, m.row.control ? "kernel" : "machine code",
                       m.row.workload, m.row.metric, figures(m, estimate, m.row.p_sequential, ""));
}

std::string sentence(const Measured& m, const std::vector<ArmInfo>& arms, const Stage& stage) {
    const std::string what = subject(m, arms) + ": ";
    if (!m.usable) {
        if (m.row.verdict == Verdict::invalid || m.row.failing) return what + conclusion(m);
        return what + "not compared, " + m.row.reason;
    }
    std::string text = what + figures(m) + ": " + conclusion(m);
    if (m.taken_back && m.earlier && m.row.verdict == m.earlier->verdict)
        text += fmt::format("; decided at look {} of {}, what came later would not show it alone", m.earlier->look + 1,
                            stage.looks.size());
    if (m.row.fragile) text += "; fragile: the rank test does not agree";
    return text;
}

std::optional<int> blocks_still_needed(const Measured& m) {
    if (!m.usable || m.test.exact || !(m.test.sd > 0)) return std::nullopt;
    constexpr double power = 0.8;
    const double effect = m.test.mean / m.test.sd;
    // Ten times the blocks at hand are no advice any more.
    const auto most = static_cast<int>(std::min<long long>(most_blocks, 11LL * m.row.n));
    const auto difference = blocks_for_difference(effect, m.level.fixed, power, most);
    const auto equivalence =
        blocks_for_equivalence(effect, m.margin / m.test.sd, m.level.fixed_equivalence, power, most);
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
