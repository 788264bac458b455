#include "daemon/stats/cells.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <tuple>

#include "daemon/stats/sums.h"

namespace kab::stats {

double score_of(const Cell& cell, std::span<const double> values, std::span<const double> scaled) {
    if (!cell.quantile) return mean(scaled);
    const double value = quantile(values, *cell.quantile);
    return cell.scale == Scale::log ? std::log(value) : value;
}

Cells::Cells(const Input& input) {
    sort_into_series(input);
    split_into_cells(input);
}

std::span<const Cell> Cells::of(int series) const {
    const auto s = static_cast<std::size_t>(series);
    return std::span(cells_).subspan(cells_begin_[s], cells_begin_[s + 1] - cells_begin_[s]);
}

void Cells::sort_into_series(const Input& input) {
    std::vector<int> excluded = input.excluded_blocks;
    std::sort(excluded.begin(), excluded.end());
    const auto arms = static_cast<int>(input.arms.size()), count = static_cast<int>(input.series.size());
    const auto is_stray = [&](const Observation& o) {
        return o.arm < 0 || o.arm >= arms || o.series < 0 || o.series >= count;
    };
    const auto is_used = [&](const Observation& o) {
        return !is_stray(o) && !std::binary_search(excluded.begin(), excluded.end(), o.block);
    };
    series_begin_.assign(input.series.size() + 1, 0);
    for (const auto& o : input.observations) {
        if (is_stray(o)) ++stray_;
        if (is_used(o)) ++series_begin_[static_cast<std::size_t>(o.series) + 1];
    }
    for (std::size_t s = 0; s < input.series.size(); ++s) series_begin_[s + 1] += series_begin_[s];
    sorted_.resize(series_begin_.back());
    auto next = series_begin_;
    for (const auto& o : input.observations)
        if (is_used(o)) sorted_[next[static_cast<std::size_t>(o.series)]++] = o;
    // The bits decide last: a total order even with NaN, so that the input's order never matters.
    const auto key = [](const Observation& o) {
        return std::tuple(o.block, o.arm, o.iteration, std::bit_cast<std::uint64_t>(o.value));
    };
    const auto less = [&](const Observation& a, const Observation& b) { return key(a) < key(b); };
    for (std::size_t s = 0; s < input.series.size(); ++s) {
        const auto begin = sorted_.begin() + static_cast<std::ptrdiff_t>(series_begin_[s]);
        const auto end = sorted_.begin() + static_cast<std::ptrdiff_t>(series_begin_[s + 1]);
        if (!std::is_sorted(begin, end, less)) std::sort(begin, end, less);
    }
}

void Cells::split_into_cells(const Input& input) {
    values_.reserve(sorted_.size());
    iterations_.reserve(sorted_.size());
    for (const auto& o : sorted_) {
        values_.push_back(o.value);
        iterations_.push_back(o.iteration);
    }
    scaled_ = values_;
    cells_begin_.push_back(0);
    for (std::size_t s = 0; s < input.series.size(); ++s) {
        for (std::size_t begin = series_begin_[s]; begin < series_begin_[s + 1];) {
            std::size_t end = begin + 1;
            while (end < series_begin_[s + 1] && sorted_[end].block == sorted_[begin].block &&
                   sorted_[end].arm == sorted_[begin].arm)
                ++end;
            Cell cell;
            cell.block = sorted_[begin].block;
            cell.arm = sorted_[begin].arm;
            cell.scale = input.series[s].scale;
            cell.quantile = input.series[s].quantile;
            if (cell.quantile && !(*cell.quantile > 0 && *cell.quantile < 1)) cell.quantile.reset();
            finish(cell, begin, end);
            cells_.push_back(cell);
            blocks_.push_back(cell.block);
            begin = end;
        }
        cells_begin_.push_back(cells_.size());
    }
    std::sort(blocks_.begin(), blocks_.end());
    blocks_.erase(std::unique(blocks_.begin(), blocks_.end()), blocks_.end());
}

void Cells::finish(Cell& cell, std::size_t begin, std::size_t end) {
    cell.values = std::span(values_).subspan(begin, end - begin);
    cell.scaled = std::span(scaled_).subspan(begin, end - begin);
    cell.iterations = std::span(iterations_).subspan(begin, end - begin);
    for (std::size_t i = begin; i < end; ++i) {
        if (!std::isfinite(values_[i])) {
            cell.state = Cell::State::not_finite;
            return;
        }
        if (cell.scale == Scale::linear) continue;
        if (values_[i] <= 0)
            cell.state = Cell::State::not_positive;
        else
            scaled_[i] = std::log(values_[i]);
    }
    if (cell.state == Cell::State::ok) cell.score = score_of(cell, cell.values, cell.scaled);
}

}  // namespace kab::stats
