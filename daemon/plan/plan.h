#pragma once
// The frozen plan: which arms, which blocks, in which order, when to look. Pure; everything
// random derives from one stored 64-bit seed by (seed, purpose, block, ...), so that any block can be
// planned alone and a restart plans the same.
#include <cstdint>
#include <string>
#include <vector>

#include "daemon/spec/experiment.h"
#include "protocol/messages.h"

namespace kab {

/// The name of the hidden control arm: the baseline's very image, booted as an arm of its own.
inline constexpr const char* control_arm = "A'";

struct PlannedArm {
    std::string name;     ///< as in the spec, or control_arm
    std::string against;  ///< empty for the baseline
    bool control = false;
    int kernel_of = 0;  ///< index of the spec's arm whose kernel it boots
};

struct Plan {
    std::uint64_t seed = 0;
    std::vector<PlannedArm> arms;  ///< baseline first; the control, if any, last
    std::vector<int> looks;        ///< ascending; the last is the cap of blocks
    Experiment experiment;
    int max_blocks() const { return looks.back(); }
};

Plan make_plan(const Experiment& experiment, std::uint64_t seed);

/// Arm indices in boot order for `block` (from 1): rows of a cyclic Latin square, re-randomised each square.
std::vector<int> block_order(const Plan& plan, int block);

/// What the agent does in each boot of `block`: warm-ups and timed iterations of every point, counted
/// iterations after them; points in random order, the same for all arms of the block.
msg::AgentPlan boot_runs(const Plan& plan, int block);

/// Canonical text of all that decides (arms, points, looks, alpha, margin, primary, seed); its SHA-256
/// together with the inputs' hashes is the plan hash.
std::string canonical_text(const Plan& plan);

}  // namespace kab
