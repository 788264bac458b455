#pragma once
// The observations of an Input, sorted once into boots: what every part of the analysis reads.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "daemon/stats/analysis.h"

namespace kab::stats {

/// One boot's values of one series; Cells has them.
struct Cell {
    enum class State { ok, not_positive, not_finite };
    int block = 0, arm = 0;
    std::uint32_t begin = 0, size = 0;  ///< where they are
    double score = 0;                   ///< on the scale of the metric; only when ok
    State state = State::ok;
};

/// Excluded blocks and observations that name no arm or series are left out. Does not depend on the order
/// of the observations.
class Cells {
  public:
    explicit Cells(const Input& input);

    /// Of one series, by block, then arm.
    std::span<const Cell> of(int series) const;
    /// A boot's values as observed, ascending by iteration.
    std::span<const double> values(const Cell& cell) const { return std::span(values_).subspan(cell.begin, cell.size); }
    /// The same on the scale of the metric: logarithms for log metrics; only when ok.
    std::span<const double> scaled(const Cell& cell) const { return std::span(scaled_).subspan(cell.begin, cell.size); }
    std::span<const int> iterations(const Cell& cell) const {
        return std::span(iterations_).subspan(cell.begin, cell.size);
    }
    /// The score of a boot of the series, had it these values only.
    double score_of(int series, std::span<const double> values, std::span<const double> scaled) const;
    /// Every boot of the series is ok and has the same iterations, and every block that it has has all arms: the cell
    /// of an arm stands at block x arms + arm.
    bool regular(int series) const { return series_[static_cast<std::size_t>(series)].regular; }
    std::size_t arms() const { return arms_; }
    /// Block numbers with any observation, ascending.
    const std::vector<int>& blocks() const { return blocks_; }
    /// Observations that named an unknown arm or series.
    std::size_t stray() const { return stray_; }

  private:
    struct OfSeries {
        Scale scale = Scale::log;
        std::optional<double> quantile;     ///< the score is this quantile instead of the mean
        std::size_t cells = 0, values = 0;  ///< where they begin
        bool regular = false;
    };

    bool place(std::span<const Observation> observations, const std::vector<int>& excluded);
    bool count(std::span<const Observation> observations, const std::vector<int>& excluded);
    bool sort_cells();
    void finish(std::size_t series);
    void finish_cell(Cell& cell, Scale scale);
    bool is_regular(std::size_t series) const;
    void collect_blocks();

    std::vector<OfSeries> series_;  ///< one more than there are series
    std::vector<double> values_, scaled_;
    std::vector<int> iterations_;
    std::vector<Cell> cells_;
    std::vector<int> blocks_;
    std::size_t arms_ = 0, stray_ = 0;
};

}  // namespace kab::stats
