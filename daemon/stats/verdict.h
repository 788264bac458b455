#pragma once
// From intervals to verdicts, in the order of docs/statistics.md.
#include <optional>
#include <vector>

#include "daemon/stats/compare.h"

namespace kab::stats {

/// Does the interval valid under the looks exclude no change? A difference without variation must, outside exact
/// mode, have been seen in enough blocks for the sign test.
bool differs(const Measured& m);
/// The same at the given level of a single test, each side.
bool differs_at(const Measured& m, double nominal);
/// Does the equivalence interval lie inside the margin?
bool inside_margin(const Measured& m);
/// Does the interval lie wholly beyond the margin? Never where there is none, but in exact mode, where 0 is a margin.
bool beyond_margin(const Measured& m);

/// Equivalent, improved, regressed, or `open` where neither is shown. `significant`: a further condition
/// for a difference (the adjusted p of a secondary). Sets material and fragile. A metric that is better
/// in neither direction gives `none` for a difference; an arm of the same machine code stays `open`.
void judge(Measured& m, bool significant, Verdict open);

/// The most an experiment can declare (`decide.fixed`).
inline constexpr int most_declared_blocks = 1000;

/// Blocks that would settle an open comparison with 80% power at a single look, those at hand included, were its
/// estimate and spread true; nullopt when no realistic number would, of a paired design also when none that can be
/// declared would.
std::optional<int> blocks_to_settle(const Measured& m);

/// The worst of the verdicts: invalid, regressed, inconclusive, pending, equivalent, improved, none.
Verdict worst(const std::vector<Verdict>& verdicts);

}  // namespace kab::stats
