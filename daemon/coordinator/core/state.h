#pragma once
// What the coordinator knows about unfinished evaluations. Rebuilt from the store at a restart.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "daemon/plan/plan.h"
#include "protocol/messages.h"

namespace kab::core {

/// Attempts at one boot that may end in infra-error before the evaluation fails.
inline constexpr int max_infra_errors = 6;
/// Times one boot may be lost with its coordinator (a crash loop of ours must end, too).
inline constexpr int max_lost = 25;
/// Boots of one arm that may end in a kernel fault one after the other before the arm is stopped.
/// Four: the least at which Fisher's exact test tells them from a baseline that never failed (p = 2/70).
inline constexpr int max_failures_in_a_row = 4;
/// Times one block may be interrupted by limits.block before the evaluation fails.
inline constexpr int max_interruptions = 3;
/// Times one block may be excluded for a declared cause before the evaluation fails: noise passes, mostly.
inline constexpr int max_noisy = 8;

enum class EvaluationStatus { queued, freezing, building, running, done, failed, cancelled };
enum class ArmStatus { pending, building, ready, failed, stopped };
enum class BlockStatus { running, complete, excluded };
enum class BootStatus { pending, running, done };
const char* to_string(EvaluationStatus status);
const char* to_string(ArmStatus status);
const char* to_string(BlockStatus status);
const char* to_string(BootStatus status);

struct Arm {
    ArmStatus status = ArmStatus::pending;
    int failures_in_a_row = 0;  ///< of timed boots
    std::string last_failure;
    std::string check_failure;  ///< what its kernel failed with in the check block; empty if it did not
};

struct Boot {
    std::string uid;
    int arm = 0;  ///< index into plan.arms
    int position = 0;
    BootStatus status = BootStatus::pending;
    int attempts = 0;          ///< made so far
    int infra_errors = 0;      ///< of those, counted against max_infra_errors
    int lost = 0;              ///< of those, counted against max_lost
    WallTime not_before;       ///< a pause after an infra error
    std::string open_attempt;  ///< uid; empty when none is under way
};

struct Block {
    int number = 0, repetition = 1;
    BlockStatus status = BlockStatus::running;
    WallTime started;         ///< of its first dispatch; moved on by the time in which nothing could run
    bool dispatched = false;  ///< in this life
    std::vector<Boot> boots;
    std::map<std::string, int> excluded{};  ///< earlier tries at this number, by the cause of their exclusion
};

struct Evaluation {
    std::string uid;
    EvaluationStatus status = EvaluationStatus::queued;
    bool frozen = false;  ///< every arm has its kernel's key
    bool sealed = false;  ///< its plan hash is stored
    Plan plan;
    std::vector<Arm> arms;       ///< as plan.arms
    std::optional<Block> block;  ///< the present one
    int blocks_complete = 0;
    int looks_done = 0;
    bool analysing = false;
    bool concluding = false;          ///< the analysis is of what is there; no look was due
    std::optional<WallTime> started;  ///< when building began, or this coordinator took it up again
};

/// How long the present block may take: check blocks are given more, as debug kernels are slow.
Nanoseconds block_limit(const Evaluation& evaluation);

/// The cause of an exclusion that is none of a spec's: the block took longer than limits.block.
inline constexpr const char* interrupted = "interrupted";

/// Earlier tries at the block that were excluded for a declared cause.
int noisy_tries(const Block& block);
/// How long the next try waits after so many, so that the machine may become quiet: 2, 4, 8 ... seconds.
Nanoseconds pause_after(int noisy);

struct State {
    std::vector<Evaluation> evaluations;  ///< unfinished, oldest first
    bool host_up = false;
    WallTime host_lost_at;
    std::string host_trouble;  ///< why the host was lost last
    std::string no_kvm;        ///< why the host has no KVM; empty when it has
    std::string no_shell;      ///< why it has no shell for its guests; empty when it has
    std::string host_attempt;  ///< what the host is busy with; empty when free
    std::string builder;       ///< uid of the evaluation that kab-build works for; empty when free
};

}  // namespace kab::core
