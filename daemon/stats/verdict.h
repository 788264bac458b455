#pragma once
// From intervals to verdicts, in the order of docs/statistics.md, and the sentence that goes with each.
#include <optional>
#include <string>
#include <vector>

#include "daemon/stats/compare.h"

namespace kab::stats {

/// Does the interval valid under the looks exclude no change?
bool differs(const Measured& m);
/// Does the equivalence interval lie inside the margin?
bool inside_margin(const Measured& m);
/// Does the interval lie wholly beyond the margin?
bool beyond_margin(const Measured& m);

/// Equivalent, improved, regressed, or `open` where neither is shown. `significant`: a further condition
/// for a difference (the adjusted p of a secondary). Sets material and fragile. A metric that is better
/// in neither direction gives `none` for a difference.
void judge(Measured& m, bool significant, Verdict open);

/// Why the control's comparison fails its gate; nullopt when it passes or could not be measured.
std::optional<std::string> gate_failure(const Measured& control, const std::vector<ArmInfo>& arms);

/// One plain sentence for row.reason; `cause` of an invalid verdict.
std::string sentence(const Measured& m, const std::vector<ArmInfo>& arms, const std::string& cause = {});

/// Blocks beyond those at hand that would settle an open comparison with 80% power, were its estimate and
/// spread true; nullopt when no realistic number would.
std::optional<int> blocks_still_needed(const Measured& m);

/// The worst of the verdicts: invalid, regressed, inconclusive, pending, equivalent, improved, none.
Verdict worst(const std::vector<Verdict>& verdicts);

}  // namespace kab::stats
