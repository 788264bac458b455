#pragma once
#include "common/result.h"
#include "daemon/coordinator/core/state.h"
#include "daemon/store/rows.h"

namespace kab {

/// The core's picture of an unfinished evaluation, from what the store holds of it.
Result<core::Evaluation> restore_evaluation(const store::EvaluationTree& tree);

}  // namespace kab
