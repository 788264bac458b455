#pragma once
// What is said of figures and verdicts. Nothing is computed here.
#include <optional>
#include <string>
#include <vector>

#include "daemon/stats/compare.h"
#include "daemon/stats/decision.h"
#include "daemon/stats/stage.h"

namespace kab::stats {

/// One plain sentence: what was compared, the figures, what follows from them.
std::string sentence(const Measured& m, const std::vector<ArmInfo>& arms, const Stage& stage);

/// Why the evaluation stops or goes on. `output` has everything but words.
std::string stop_sentence(const Conclusion& conclusion, const Stage& stage, const Output& output);

/// Why a control, or an arm of the same machine code, fails its gate; nullopt when it passes or could not be measured.
std::optional<std::string> gate_failure(const Measured& m, const std::vector<ArmInfo>& arms);

}  // namespace kab::stats
