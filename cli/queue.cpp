#include "cli/queue.h"

#include <fmt/core.h>

#include <algorithm>

namespace kab::cli {
namespace {

/// Whoever builds or boots; where nobody does, whoever freezes.
const api::Evaluation* active(const std::vector<api::Evaluation>& all, const std::string& uid) {
    const api::Evaluation* freezing = nullptr;
    for (const auto& one : all) {
        if (one.uid == uid) continue;
        if (one.status == "building" || one.status == "running") return &one;
        if (one.status == "freezing") freezing = &one;
    }
    return freezing;
}

std::string stage_of(const api::Evaluation& evaluation) {
    const auto& progress = evaluation.progress;
    if (!progress) return evaluation.status;
    if (progress->phase == "check") return "checking";
    if (progress->phase == "boot") return fmt::format("block {}/{}", progress->block, progress->blocks);
    return progress->arm.empty() ? evaluation.status : fmt::format("{} {}", evaluation.status, progress->arm);
}

}  // namespace

std::string describe_queue(const std::vector<api::Evaluation>& all, const std::string& uid) {
    const auto mine = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.uid == uid; });
    const auto* ahead = active(all, uid);
    if (mine == all.end() || ahead == nullptr) return {};
    const auto waits = [&](const api::Evaluation& one) { return !one.ended() && one.uid != ahead->uid; };
    const auto before = std::count_if(mine + 1, all.end(), waits);
    const bool same = ahead->experiment == mine->experiment;
    return fmt::format("queued behind {} ({}){}", same ? ahead->uid : ahead->experiment, stage_of(*ahead),
                       before > 0 ? fmt::format(", {} more before this one", before) : "");
}

}  // namespace kab::cli
