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
inline constexpr const char* relinked_arm = "A'relinked";
/// "NAME'debug"; a quote cannot be in a name of the spec.
std::string debug_arm(const std::string& arm);
/// The block before the first, in which the checks run. It has no samples that count.
inline constexpr int check_block = 0;
/// A debug kernel may take so many times limits.boot and limits.run, and the check block so many times limits.block.
inline constexpr int debug_patience = 4;

/// What an arm is there for. Only measured and control arms count in verdicts.
enum class Role {
    measured,
    control,   ///< A': the baseline's image once more
    relinked,  ///< the baseline with its code moved: what the placement of code alone does
    debug,     ///< an arm of the spec with debugging on: boots once, before the first block, for the checks
};
const char* to_string(Role role);

struct PlannedArm {
    std::string name;     ///< as in the spec, or control_arm, relinked_arm, or debug_arm() of the spec's
    std::string against;  ///< empty for the baseline and for debug arms
    Role role = Role::measured;
    int kernel_of = 0;  ///< index of the spec's arm whose kernel it boots, as it is or (relinked, debug) changed

    bool control() const { return role == Role::control; }
};

struct Plan {
    std::uint64_t seed = 0;
    std::vector<PlannedArm> arms;  ///< baseline first; the control, if any, last
    std::vector<int> looks;        ///< ascending; the last is the cap of blocks
    Experiment experiment;
    int max_blocks() const { return looks.back(); }
};

Plan make_plan(const Experiment& experiment, std::uint64_t seed);

/// The planned arm whose kernel `arm` boots, by index: its own, but for the control, which boots the baseline's. Only
/// these are frozen and built.
int kernel_owner(const Plan& plan, int arm);

/// Arm indices in boot order for `block` (from 1): rows of a cyclic Latin square, re-randomised each square. Debug arms
/// boot in the check block only, where every kernel that has a check to run boots once in the order of the arms.
std::vector<int> block_order(const Plan& plan, int block);

/// What the agent does in each boot of `block`: warm-ups and timed iterations of every point, counted
/// iterations after them; points in random order, the same for all arms of the block.
msg::AgentPlan boot_runs(const Plan& plan, int block);

/// What the agent does in the boot of `arm` in the check block; its runs may be none.
msg::AgentPlan check_runs(const Plan& plan, int arm);

/// Canonical text of all that decides (arms, points, looks, alpha, margin, primary, seed); its SHA-256
/// together with the inputs' hashes is the plan hash.
std::string canonical_text(const Plan& plan);

}  // namespace kab
