#pragma once
// Where an evaluation stands among its planned looks, and what each kind of comparison may spend there.
#include <string>
#include <vector>

#include "daemon/stats/analysis.h"
#include "daemon/stats/spending.h"

namespace kab::stats {

/// The control's gate: two-sided, spent over the looks. 5% would void one good evaluation in twenty.
inline constexpr double control_alpha = 0.005;
/// False discovery rate of the secondaries.
inline constexpr double secondary_q = 0.05;

struct Stage {
    std::vector<int> looks;           ///< planned, ascending; never empty
    int index = 0;                    ///< of this look
    bool preview = false;             ///< not a planned look: no verdicts
    bool last = false;                ///< the cap is reached
    std::vector<double> information;  ///< shares of the looks taken, this one included
    const char* noun = "block";       ///< what is counted: without pairing boots

    /// "look 2 of 5 (10 blocks)", "the only look (12 blocks)", "a preview after 7 blocks"
    std::string words(int blocks) const;
};

/// `look` from 0, -1 for a preview; `blocks` used so far. Without planned looks the data at hand are the only look.
Stage stage_of(const Design& design, int look, int blocks);

/// What one comparison may spend. Levels of single tests at this look are one-sided.
struct Level {
    double confidence = 0.95;   ///< of the interval over all looks, two-sided
    double nominal = 0.025;     ///< for a difference, each side
    double equivalence = 0.05;  ///< for each of the two one-sided tests
    double fixed = 0.025;       ///< each side, had there been no looks: for the number of blocks still needed
    double fixed_equivalence = 0.05;
    double spent = 0;  ///< two-sided, on a difference, up to and with this look
};

/// `alpha` two-sided for a difference, a side for equivalence.
Level level_at(const Stage& stage, double alpha);

}  // namespace kab::stats
