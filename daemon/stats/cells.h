#pragma once
// The observations of an Input, sorted once into boots: what every part of the analysis reads.
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "daemon/stats/analysis.h"

namespace kab::stats {

/// One boot's values of one series, ascending by iteration.
struct Cell {
    enum class State { ok, not_positive, not_finite };
    int block = 0, arm = 0;
    std::span<const double> values;  ///< as observed
    std::span<const double> scaled;  ///< logarithms for log metrics; only when ok
    std::span<const int> iterations;
    Scale scale = Scale::log;
    std::optional<double> quantile;  ///< the score is this quantile instead of the mean
    double score = 0;                ///< on the scale of the metric; only when ok
    State state = State::ok;
};

/// The score of a boot with these values (the cell's, or those of some of its iterations).
double score_of(const Cell& cell, std::span<const double> values, std::span<const double> scaled);

/// Excluded blocks and observations that name no arm or series are left out. Does not depend on the order
/// of the observations. Not copyable: cells point into it.
class Cells {
  public:
    explicit Cells(const Input& input);
    Cells(const Cells&) = delete;
    Cells& operator=(const Cells&) = delete;

    /// Of one series, by block, then arm.
    std::span<const Cell> of(int series) const;
    /// Block numbers with any observation, ascending.
    const std::vector<int>& blocks() const { return blocks_; }
    /// Observations that named an unknown arm or series.
    std::size_t stray() const { return stray_; }

  private:
    void sort_into_series(const Input& input);
    void split_into_cells(const Input& input);
    void finish(Cell& cell, std::size_t begin, std::size_t end);

    std::vector<Observation> sorted_;
    std::vector<std::size_t> series_begin_;  ///< into sorted_; one more than there are series
    std::vector<double> values_, scaled_;
    std::vector<int> iterations_;
    std::vector<Cell> cells_;
    std::vector<std::size_t> cells_begin_;
    std::vector<int> blocks_;
    std::size_t stray_ = 0;
};

}  // namespace kab::stats
