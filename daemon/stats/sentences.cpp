#include "daemon/stats/sentences.h"

#include <fmt/compile.h>
#include <fmt/core.h>

#include <cstddef>
#include <string_view>

#include "daemon/stats/verdict.h"
#include "daemon/stats/words.h"

namespace kab::stats {
namespace {

std::string margin_text(const Measured& m) {
    const double margin = m.row.margin.value_or(0);
    if (m.scale == Scale::log) return plain_percent(margin);
    return fmt::format("{:.4g}{}", margin, m.unit.empty() || m.unit == "1" ? "" : " " + m.unit);
}

std::string difference_text(const Measured& m) {
    if (!(m.margin > 0)) return to_string(m.row.verdict);
    if (!m.row.material) {
        return fmt::format("{}, though perhaps by less than the margin of {}", to_string(m.row.verdict),
                           margin_text(m));
    }
    return fmt::format("{}, by more than the margin of {}", to_string(m.row.verdict), margin_text(m));
}

/// What would settle an open comparison. An evaluation that has reached its cap cannot be extended.
std::string remedy(int needed, const char* noun) {
    if (std::string_view(noun) != "block")
        return fmt::format("about {} {}s a side would likely settle it", needed, noun);
    return fmt::format("a new evaluation of about {0} blocks (decide.fixed: {0}) would likely settle it", needed);
}

std::string open_text(const Measured& m) {
    if (m.row.same_code && differs(m))
        return "it differs, but the machine code is the same: no claim can be made of that";
    std::string text = "no difference is shown";
    if (m.margin > 0) text = fmt::format("neither a difference nor equivalence within {} is shown", margin_text(m));
    return m.row.blocks_needed ? text + "; " + remedy(*m.row.blocks_needed, m.noun) : text;
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

std::string stops(const Stage& stage, int blocks) {
    if (stage.preview) return fmt::format("stops after {}, out of turn", counted(blocks, stage.noun));
    return "stops at " + stage.words(blocks);
}

}  // namespace

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
    if ((m.taken_back || m.material_now) && m.earlier && m.row.verdict == m.earlier->verdict)
        text += fmt::format("; decided at look {} of {}, what came later {}", m.earlier->look + 1, stage.looks.size(),
                            m.taken_back      ? "would not show it alone"
                            : *m.material_now ? "would show that it exceeds the margin"
                                              : "would not show that it exceeds the margin");
    if (m.row.fragile) text += "; fragile: the rank test does not agree";
    return text;
}

std::string stop_sentence(const Conclusion& count, const Stage& stage, const Output& output) {
    if (!count.cause.empty()) return fmt::format("{}: invalid, {}", stops(stage, output.blocks), count.cause);
    const std::string here = stage.words(output.blocks);
    if (stage.preview && !output.decided) return here + ": not a planned look, so no verdict";
    const std::string all = counted(count.primaries, "primary comparison");
    if (count.primaries == 0)
        return fmt::format("{}: there is no primary metric",
                           output.decided ? stops(stage, output.blocks) : "goes on at " + here);
    std::string lost;
    for (const auto& one : count.lost) lost += "; " + one;
    if (count.open == 0 && count.unsettled == count.primaries)
        return fmt::format("{}: nothing is left to compare{}", stops(stage, output.blocks), lost);
    if (count.open == 0 && count.unsettled > 0) {
        const int settled = count.primaries - count.unsettled;
        return fmt::format("{}: {} of {} {} decided{}", stops(stage, output.blocks), settled, all,
                           settled == 1 ? "is" : "are", lost);
    }
    if (count.open == 0)
        return fmt::format("{}: every primary comparison has its verdict", stops(stage, output.blocks));
    if (!output.decided)
        return fmt::format("goes on after {}: {} of {} still open; the next look is at {} blocks{}", here, count.open,
                           all, stage.looks[static_cast<std::size_t>(stage.index) + 1], lost);
    std::string text =
        fmt::format("{}, the last: {} of {} inconclusive{}", stops(stage, output.blocks), count.open, all, lost);
    return output.blocks_needed ? text + "; " + remedy(*output.blocks_needed, stage.noun) : text;
}

}  // namespace kab::stats
