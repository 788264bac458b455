#pragma once
// Whether a block can count: the conditions of its runs against what the spec excludes.
#include <optional>
#include <vector>

#include "daemon/coordinator/core/step.h"
#include "daemon/spec/experiment.h"
#include "daemon/store/rows.h"

namespace kab {

/// Something is declared, so that there is something to judge.
bool declares(const Exclude& exclude);

/// The first cause in the order throttled, steal, run-delay, host-load, canary for which the block cannot count, with
/// its worst run; or nothing. Pure, and the same for all arms: `conditions` are those of the block's runs so far, each
/// compared with what was declared, the canary with the fastest of the block. Warm-up runs and checks do not exclude,
/// nor does what could not be measured.
std::optional<core::Exclusion> judge_block(const std::vector<store::ConditionRow>& conditions, const Exclude& exclude);

}  // namespace kab
