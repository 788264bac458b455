#pragma once
// An analysis with all that its words need besides the figures.
#include <cmath>
#include <cstddef>
#include <vector>

#include "daemon/stats/cells.h"
#include "daemon/stats/compare.h"
#include "daemon/stats/decision.h"
#include "daemon/stats/findings.h"
#include "daemon/stats/stage.h"

namespace kab::stats {

struct Workings {
    Cells cells;
    Stage stage;
    std::vector<Measured> rows;
    std::vector<std::size_t> order;  ///< rows[order[i]] is what output.comparisons[i] shows
    SweepGaps gaps;
    Conclusion conclusion;
    Output output;  ///< without words
};

Workings work_out(const Input& input, double cost_boot_ns, double cost_iteration_ns);

inline bool usable_alpha(const Design& design) {
    return design.alpha > 0 && design.alpha < 1;
}
inline bool usable_margin(const Design& design) {
    return design.margin >= 0 && std::isfinite(design.margin);
}
/// Is the arm compared with another one?
inline bool judged(const std::vector<ArmInfo>& arms, std::size_t arm) {
    const int against = arms[arm].against;
    return against >= 0 && against < static_cast<int>(arms.size()) && against != static_cast<int>(arm);
}

}  // namespace kab::stats
