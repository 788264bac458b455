#include "daemon/stats/stage.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>

#include "daemon/stats/words.h"

namespace kab::stats {
namespace {

std::vector<int> planned(const Design& design) {
    std::vector<int> looks;
    for (const int look : design.looks)
        if (look > (looks.empty() ? 0 : looks.back())) looks.push_back(look);
    if (design.fixed && looks.size() > 1) looks.erase(looks.begin(), looks.end() - 1);
    return looks;
}

}  // namespace

Stage stage_of(const Design& design, int look, int blocks) {
    Stage stage;
    stage.looks = planned(design);
    stage.preview = look < 0;
    if (!design.paired) stage.noun = "boot";
    if (stage.looks.empty()) {
        stage.looks = {std::max(blocks, 1)};
        stage.information = {1};
        stage.last = !stage.preview;
        return stage;
    }
    const int count = static_cast<int>(stage.looks.size());
    if (!stage.preview) {
        stage.index = std::min(look, count - 1);
        stage.last = stage.index == count - 1;
        stage.information = information_shares(stage.looks);
        stage.information.resize(static_cast<std::size_t>(stage.index) + 1);
        return stage;
    }
    // A look out of turn: the planned ones before it, then this one, as if it were to count. Its interval
    // holds if no other look out of turn is acted on; verdicts are not given at all.
    const double cap = stage.looks.back();
    for (const int one : stage.looks) {
        if (one >= blocks) break;
        stage.information.push_back(one / cap);
        ++stage.index;
    }
    const double here = std::clamp(blocks / cap, 1 / cap, 1.0);
    if (stage.information.empty() || stage.information.back() < here) stage.information.push_back(here);
    return stage;
}

std::string Stage::words(int blocks) const {
    if (preview) return "a preview after " + counted(blocks, noun);
    const std::string of_blocks = fmt::format("({})", counted(blocks, noun));
    if (looks.size() == 1) return "the only look " + of_blocks;
    return fmt::format("look {} of {} {}", index + 1, looks.size(), of_blocks);
}

Level level_at(const Stage& stage, double alpha) {
    Level level;
    level.confidence = 1 - alpha;
    level.fixed = alpha / 2;
    level.fixed_equivalence = std::min(alpha, 0.5);
    // The bound of a look does not depend on what comes after it: one integration over the plan serves all its looks.
    const auto shares = stage.preview ? stage.information : information_shares(stage.looks);
    const std::size_t at = stage.information.size() - 1;
    const Bound bound = bounds(Spending::hwang_shih_decani, level.fixed, shares)[at];
    level.nominal = bound.nominal_p;
    level.spent = 2 * bound.spent;
    level.equivalence = bounds(Spending::hwang_shih_decani, level.fixed_equivalence, shares)[at].nominal_p;
    return level;
}

}  // namespace kab::stats
