#include "daemon/stats/stage.h"

#include <fmt/core.h>

#include <algorithm>

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

Stage stage_of(const Input& input, int blocks) {
    Stage stage;
    stage.looks = planned(input.design);
    stage.preview = input.look < 0;
    if (stage.looks.empty()) {
        stage.looks = {std::max(blocks, 1)};
        stage.information = {1};
        stage.last = !stage.preview;
        return stage;
    }
    const int count = static_cast<int>(stage.looks.size());
    if (!stage.preview) {
        stage.index = std::min(input.look, count - 1);
        stage.last = stage.index == count - 1;
        stage.information = information_shares(stage.looks);
        stage.information.resize(static_cast<std::size_t>(stage.index) + 1);
        return stage;
    }
    // A look out of turn: the planned ones before it, then this one, as if it were to count. Its interval
    // holds if no other look out of turn is acted on; verdicts are not given at all.
    const double cap = stage.looks.back();
    for (const int look : stage.looks) {
        if (look >= blocks) break;
        stage.information.push_back(look / cap);
        ++stage.index;
    }
    const double here = std::clamp(blocks / cap, 1 / cap, 1.0);
    if (stage.information.empty() || stage.information.back() < here) stage.information.push_back(here);
    return stage;
}

std::string Stage::words(int blocks) const {
    if (preview) return fmt::format("a preview after {} block{}", blocks, blocks == 1 ? "" : "s");
    const std::string of_blocks = fmt::format("({} block{})", blocks, blocks == 1 ? "" : "s");
    if (looks.size() == 1) return "the only look " + of_blocks;
    return fmt::format("look {} of {} {}", index + 1, looks.size(), of_blocks);
}

Level level_at(const Stage& stage, double alpha) {
    Level level;
    level.confidence = 1 - alpha;
    level.fixed = alpha / 2;
    level.fixed_equivalence = std::min(alpha, 0.5);
    level.nominal = bounds(Spending::hwang_shih_decani, level.fixed, stage.information).back().nominal_p;
    level.equivalence =
        bounds(Spending::hwang_shih_decani, level.fixed_equivalence, stage.information).back().nominal_p;
    return level;
}

}  // namespace kab::stats
