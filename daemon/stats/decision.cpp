#include "daemon/stats/decision.h"

#include <fmt/core.h>

#include <algorithm>

#include "daemon/stats/exact.h"
#include "daemon/stats/fisher.h"
#include "daemon/stats/sentences.h"
#include "daemon/stats/verdict.h"
#include "daemon/stats/words.h"

namespace kab::stats {
namespace {

const ArmInfo& arm_of(const Input& input, int arm) {
    return input.arms[static_cast<std::size_t>(arm)];
}

bool is_open(Verdict verdict) {
    return verdict == Verdict::pending || verdict == Verdict::inconclusive;
}

/// Fisher's exact p of the failed boots of the two arms; 1 when there is nothing to compare.
double failure_p(const ArmInfo& arm, const ArmInfo& against) {
    if (arm.failed < 0 || arm.failed > arm.boots || against.failed < 0 || against.failed > against.boots) return 1;
    return fisher_exact(arm.failed, arm.boots, against.failed, against.boots);
}

/// "3 of 3 boots failed, 0 of 3 with base (Fisher's exact p = 0.1)"
std::string failures_text(const ArmInfo& arm, const ArmInfo& against) {
    return fmt::format("{} of {} failed, {} of {} with {} (Fisher's exact {})", arm.failed, counted(arm.boots, "boot"),
                       against.failed, against.boots, against.name, p_text(failure_p(arm, against)));
}

/// A control, or an arm of the same machine code, that fails where its twin does not.
std::optional<std::string> failing_twin(const Measured& m, const std::vector<ArmInfo>& arms) {
    const auto& arm = arms[static_cast<std::size_t>(m.row.arm)];
    const auto& against = arms[static_cast<std::size_t>(m.row.against)];
    if (failure_p(arm, against) > 2 * m.gate.nominal) return std::nullopt;
    return fmt::format("{} fails otherwise than {} though it is the same {}: {}", arm.name, against.name,
                       m.row.control ? "kernel" : "machine code", failures_text(arm, against));
}

}  // namespace

/// No block will come that has both arms.
bool Decision::ended(const Measured& m) const {
    return arm_of(input_, m.row.arm).stopped || arm_of(input_, m.row.against).stopped;
}

/// Nothing is left to compare: whatever the look, it is the last.
bool Decision::all_ended() const {
    bool any = false;
    for (const auto& m : rows_) {
        if (!m.row.primary || !m.row.question()) continue;
        if (!ended(m)) return false;
        any = true;
    }
    return any;
}

std::string Decision::stopped_text(const Measured& m) const {
    for (const int arm : {m.row.arm, m.row.against}) {
        const auto& info = arm_of(input_, arm);
        if (info.stopped) return info.name + " " + (info.stopped_why.empty() ? "was stopped" : info.stopped_why);
    }
    return {};
}

/// An arm that was stopped because it keeps failing is worse than a baseline that does not fail at all, however few
/// the boots; where the baseline fails, too, Fisher's test must tell them apart. So is one that failed its checks where
/// its baseline passed them. The same machine code is never worse.
bool Decision::judge_failing(Measured& m) const {
    const auto& arm = arm_of(input_, m.row.arm);
    const auto& against = arm_of(input_, m.row.against);
    if (!m.row.primary || m.row.same_code) return false;
    if (arm.failed_checks && !against.failed_checks) {
        m.row.failing = true;
        m.row.verdict = Verdict::regressed;
        m.row.material = m.row.fragile = false;
        m.row.reason = stopped_text(m);
        return true;
    }
    if (!arm.keeps_failing) return false;
    const bool worse = against.failed == 0 && !against.keeps_failing && against.boots > 0;
    const bool tested =
        static_cast<double>(arm.failed) * against.boots > static_cast<double>(against.failed) * arm.boots &&
        failure_p(arm, against) <= 1 - m.level.confidence;
    if (!worse && !tested) return false;
    m.row.failing = true;
    m.row.verdict = Verdict::regressed;
    m.row.material = m.row.fragile = false;
    m.row.reason = fmt::format("{}: {}", stopped_text(m), failures_text(arm, against));
    return true;
}

void Decision::judge_row(Measured& m, bool over) {
    Comparison& row = m.row;
    if (!row.question()) {
        judge(m, true, Verdict::none);
        row.verdict = Verdict::none;
        row.material = false;
        return;
    }
    if (!m.usable && ended(m)) row.reason = stopped_text(m);
    if (judge_failing(m)) return;
    if (stage_.preview && !over) {
        row.verdict = Verdict::pending;
        return;
    }
    const Verdict open = stage_.last || ended(m) ? Verdict::inconclusive : Verdict::pending;
    const bool significant = row.primary || !row.p_adjusted || *row.p_adjusted <= secondary_q;
    if (stage_.preview)
        row.verdict = open;
    else
        judge(m, significant, open);
    if (m.earlier) {
        m.taken_back = row.verdict != m.earlier->verdict;
        if (!m.taken_back && row.material != m.earlier->material) m.material_now = row.material;
        row.verdict = m.earlier->verdict;
        row.material = m.earlier->material;
        row.decided_at = m.earlier->look;
    } else if (row.primary && !stage_.preview && !is_open(row.verdict)) {
        row.decided_at = stage_.index;
    }
    if (row.verdict == Verdict::inconclusive && !ended(m)) row.blocks_needed = blocks_to_settle(m);
}

/// Is there a verdict that the control would have to vouch for? A failed check is no figure.
bool Decision::claims(bool secondaries) const {
    return std::any_of(rows_.begin(), rows_.end(), [&](const Measured& m) {
        return (m.row.primary || secondaries) && m.row.question() && !is_open(m.row.verdict) &&
               m.row.verdict != Verdict::none && !(m.row.failing && arm_of(input_, m.row.arm).failed_checks);
    });
}

std::vector<std::string> Decision::causes() const {
    auto result = input_.failed_gates;
    if (input_.design.exact)
        if (auto failure = inexact_control(input_)) result.push_back(std::move(*failure));
    for (const auto& m : rows_) {
        if (!m.row.primary || !(m.row.control || m.row.same_code)) continue;
        // In exact mode a control must be the same in every value, which has been looked at.
        const bool gate = !(m.row.control && input_.design.exact);
        if (auto failure = gate ? gate_failure(m, input_.arms) : std::nullopt) result.push_back(std::move(*failure));
        if (auto failure = failing_twin(m, input_.arms)) {
            if (std::find(result.begin(), result.end(), *failure) == result.end()) result.push_back(*failure);
        } else if (m.row.control && !m.usable && claims(stage_.last || ended(m))) {
            result.push_back(
                fmt::format("the control {} could not be measured in {}/{}, so nothing vouches for the "
                            "apparatus: {}",
                            arm_of(input_, m.row.arm).name, m.row.workload, m.row.metric, m.row.reason));
        }
    }
    return result;
}

void Decision::void_all(const std::string& cause) {
    out_.verdict = Verdict::invalid;
    out_.decided = true;
    for (auto& m : rows_) {
        if (!m.row.question()) continue;
        m.row.verdict = Verdict::invalid;
        m.row.material = m.row.failing = false;
        m.row.decided_at.reset();
        m.row.blocks_needed.reset();
        m.row.reason = cause;
    }
}

Conclusion Decision::decide() {
    const bool over = all_ended();
    for (auto& m : rows_) judge_row(m, over);
    Conclusion conclusion;
    if (!stage_.preview || over)
        for (const auto& one : causes()) conclusion.cause += (conclusion.cause.empty() ? "" : "; ") + one;
    if (conclusion.cause.empty()) {
        count(conclusion);
        conclude(conclusion);
    } else {
        void_all(conclusion.cause);
    }
    return conclusion;
}

void Decision::count(Conclusion& count) const {
    for (const auto& m : rows_) {
        if (!m.row.primary || !m.row.question()) continue;
        ++count.primaries;
        if (!is_open(m.row.verdict)) continue;
        if (!ended(m)) {
            ++count.open;
            continue;
        }
        ++count.unsettled;
        const auto text = stopped_text(m);
        if (std::find(count.lost.begin(), count.lost.end(), text) == count.lost.end()) count.lost.push_back(text);
    }
}

void Decision::conclude(const Conclusion& counts) {
    out_.decided = counts.primaries > 0 && counts.open == 0;
    if (!stage_.preview && stage_.last) out_.decided = true;
    std::vector<Verdict> verdicts;
    bool all_known = true;
    for (auto& m : rows_) {
        if (out_.decided && m.row.verdict == Verdict::pending) m.row.verdict = Verdict::inconclusive;
        if (!m.row.primary || !m.row.question()) continue;
        verdicts.push_back(m.row.verdict);
        if (m.row.verdict != Verdict::inconclusive || ended(m)) continue;
        all_known &= m.row.blocks_needed.has_value();
        if (m.row.blocks_needed) out_.blocks_needed = std::max(out_.blocks_needed.value_or(0), *m.row.blocks_needed);
    }
    if (!all_known) out_.blocks_needed.reset();
    out_.verdict = out_.decided ? worst(verdicts) : Verdict::pending;
}

}  // namespace kab::stats
