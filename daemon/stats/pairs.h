#pragma once
// Differences of scores within blocks: the numbers that every test of a comparison is made from.
#include <span>
#include <string>
#include <vector>

#include "daemon/stats/cells.h"

namespace kab::stats {

struct Pairs {
    std::vector<int> blocks;     ///< ascending
    std::vector<double> d;       ///< score(arm) - score(against), one a block
    double against_mean = 0;     ///< mean score of `against` over these blocks
    double tolerance = 0;        ///< differences no larger are rounding
    int not_positive = 0;        ///< boots of the two arms with values <= 0 on a log scale
    int not_finite = 0;          ///< boots with NaN or infinite values; they count as missing
    std::vector<int> unmatched;  ///< blocks that have one of the two arms only
};

/// Of one series, in blocks up to `last_block`. Where the boots of a pair have different iterations, only the common
/// ones are compared: the first iterations of a boot differ from later ones.
Pairs pair_up(const Cells& cells, int series, int arm, int against, int last_block);

/// The mean over points of the differences, for blocks that have all points used.
struct SweepPairs {
    Pairs pairs;
    std::vector<std::size_t> used;      ///< indices of the points in the mean
    std::vector<std::size_t> left_out;  ///< points with pairs in fewer than half as many blocks as the best
    std::vector<int> incomplete;        ///< blocks left out because one of the used points is missing there
};
SweepPairs pair_up_sweep(std::span<const Pairs> points);

}  // namespace kab::stats
