#pragma once
// The observations of an Input, sorted once into boots: what every part of the analysis reads.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "daemon/stats/analysis.h"

namespace kab::stats {

/// One boot's values of one series; Cells has them.
struct Cell {
    enum class State : std::uint8_t { ok, not_positive, not_finite };
    int block = 0, arm = 0;
    std::uint32_t begin = 0, size = 0;  ///< where they are
    std::uint32_t first_iteration = 0;  ///< where their indices are
    State state = State::ok;
    double score = 0;  ///< on the scale of the metric; only when ok
};

/// Excluded blocks and observations that name no arm or series are left out. Does not depend on the order
/// of the observations.
class Cells {
  public:
    explicit Cells(const Input& input);

    /// Of one series, by block, then arm.
    std::span<const Cell> of(int series) const;
    /// What a boot's score is made of, ascending by iteration; only when ok: values on the scale of the metric
    /// (logarithms for log metrics) or, where the score is a quantile, as observed.
    std::span<const double> values(const Cell& cell) const {
        return std::span(values_.get(), size_).subspan(cell.begin, cell.size);
    }
    /// Boots with the same indices mostly share one list of them.
    std::span<const int> iterations(const Cell& cell) const {
        return std::span(iterations_).subspan(cell.first_iteration, cell.size);
    }
    /// The score of a boot of the series, had it these values only.
    double score_of(int series, std::span<const double> values) const;
    /// Every boot of the series is ok and has the same iterations, and every block that it has has all arms: the cell
    /// of an arm stands at block x arms + arm.
    bool regular(int series) const { return series_[static_cast<std::size_t>(series)].regular; }
    std::size_t arms() const { return arms_; }
    /// Block numbers with any observation, ascending.
    const std::vector<int>& blocks() const { return blocks_; }
    /// Of the values as observed, series by series.
    const std::vector<Summary>& summaries() const { return summaries_; }
    /// Observations that named an unknown arm or series.
    std::size_t stray() const { return stray_; }

  private:
    struct OfSeries {
        Scale scale = Scale::log;
        std::optional<double> quantile;     ///< the score is this quantile instead of the mean
        std::size_t cells = 0, values = 0;  ///< where they begin
        std::size_t first_iteration = 0;
        bool regular = false;
        bool alike = true;            ///< every boot has the iterations of the first
        bool table = false;           ///< and their values stand in the order of the cells
        std::vector<int> iterations;  ///< of its first boot
    };

    bool place_table(std::span<const Observation> observations);
    void make_table_cells(std::span<const Observation> observations, std::size_t width);
    bool place(std::span<const Observation> observations, const std::vector<int>& excluded);
    bool count(std::span<const Observation> observations, const std::vector<int>& excluded);
    bool sort_cells();
    void place_iterations();
    void finish(std::size_t series);
    void take_means(const OfSeries& series, std::span<const Cell> cells);
    void find_states(std::span<Cell> cells, Scale scale);
    void take_logarithms(std::span<const Cell> cells);
    bool is_regular(std::size_t series) const;
    void collect_blocks();

    std::vector<OfSeries> series_;      ///< one more than there are series
    std::unique_ptr<double[]> values_;  ///< not filled with zeros first, unlike a vector
    std::size_t size_ = 0;              ///< of values_
    std::vector<int> iterations_;
    std::vector<Cell> cells_;
    std::vector<int> blocks_;
    std::vector<Summary> summaries_;
    std::vector<double> means_;  ///< working space
    std::size_t arms_ = 0, stray_ = 0;
};

}  // namespace kab::stats
