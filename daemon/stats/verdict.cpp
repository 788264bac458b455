#include "daemon/stats/verdict.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "daemon/stats/power.h"

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

bool differs_at(const Measured& m, double nominal) {
    if (!m.usable) return false;
    if (m.test.exact) return m.test.mean != 0 && (m.exact_mode || m.exact_p <= 2 * nominal);
    const Interval interval = t_interval(m.test, nominal);
    return interval.low > 0 || interval.high < 0;
}

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
    return m.has_margin && (m.margin > 0 || m.exact_mode) && differs(m) &&
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

std::optional<int> blocks_to_settle(const Measured& m) {
    if (!m.usable || m.test.exact || !(m.test.sd > 0)) return std::nullopt;
    constexpr double power = 0.8;
    const double effect = m.test.mean / m.test.sd;
    // Ten times the blocks at hand are no advice any more.
    const bool paired = std::string_view(m.noun) == "block";  // else boots, whose number nothing limits
    const auto most =
        static_cast<int>(std::min<long long>(paired ? most_declared_blocks : most_blocks, 11LL * m.row.n));
    const auto difference = blocks_for_difference(effect, m.level.fixed, power, most);
    const auto equivalence =
        blocks_for_equivalence(effect, m.margin / m.test.sd, m.level.fixed_equivalence, power, most);
    std::optional<int> best = difference;
    if (equivalence && (!best || *equivalence < *best)) best = equivalence;
    return best;
}

Verdict worst(const std::vector<Verdict>& verdicts) {
    constexpr std::array order{Verdict::invalid,    Verdict::regressed, Verdict::inconclusive, Verdict::pending,
                               Verdict::equivalent, Verdict::improved,  Verdict::none};
    for (const Verdict candidate : order)
        if (std::find(verdicts.begin(), verdicts.end(), candidate) != verdicts.end()) return candidate;
    return Verdict::none;
}

}  // namespace kab::stats
