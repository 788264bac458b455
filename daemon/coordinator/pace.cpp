#include "daemon/coordinator/pace.h"

#include <algorithm>

namespace kab {

void Pace::boot_took(const std::string& evaluation, int arm, Nanoseconds time) {
    auto& mean = means_[evaluation][arm];
    ++mean.count;
    mean.nanoseconds += (static_cast<double>(time.count()) - mean.nanoseconds) / static_cast<double>(mean.count);
}

Nanoseconds Pace::finished(const std::string& attempt, WallTime now) {
    const auto found = started_.find(attempt);
    if (found == started_.end()) return Nanoseconds::zero();
    const auto time = now - found->second;
    started_.erase(found);
    return time;
}

Pace::Outlook Pace::outlook(const core::Evaluation& evaluation) const {
    Outlook out;
    const auto& looks = evaluation.plan.looks;
    if (looks.empty()) return out;
    const auto look = std::min(static_cast<std::size_t>(evaluation.looks_done), looks.size() - 1);
    out.blocks = looks[look];
    out.block = evaluation.block ? evaluation.block->number : 0;
    const bool checking = evaluation.block && evaluation.block->number == check_block;

    std::map<int, Mean> means;
    if (const auto found = means_.find(evaluation.uid); found != means_.end()) means = found->second;
    double sum = 0;
    for (const auto& [arm, mean] : means) sum += mean.nanoseconds;
    const double overall = means.empty() ? 0 : sum / static_cast<double>(means.size());
    const auto expected = [&](int arm) {
        const auto found = means.find(arm);
        return found == means.end() ? overall : found->second.nanoseconds;
    };

    double left = 0;
    const auto blocks_after = std::max<std::int64_t>(0, out.blocks - std::max<std::int64_t>(out.block, 0));
    std::int64_t arms = 0;
    for (std::size_t i = 0; i < evaluation.arms.size(); ++i) {
        if (evaluation.arms[i].status != core::ArmStatus::ready || evaluation.plan.arms[i].role == Role::debug)
            continue;
        ++arms;
        left += static_cast<double>(blocks_after) * expected(static_cast<int>(i));
    }
    out.boots = arms * out.blocks;
    out.boots_done = arms * std::max<std::int64_t>(0, out.block - 1);
    if (checking) out.boots = std::ssize(evaluation.block->boots);  // those of the checks, for themselves
    if (evaluation.block) {
        for (const auto& boot : evaluation.block->boots) {
            if (boot.status == core::BootStatus::done)
                ++out.boots_done;
            else
                left += expected(boot.arm);
        }
    }
    out.left = Nanoseconds(static_cast<std::int64_t>(left));
    return out;
}

}  // namespace kab
