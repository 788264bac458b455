#include "daemon/stats/cells.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <tuple>

#include "daemon/stats/sums.h"
#include "daemon/stats/vector_math.h"

namespace kab::stats {
namespace {

/// By series, block, arm and iteration. The bits decide last: a total order even with NaN, so that the input's order
/// never matters.
bool before(const Observation& a, const Observation& b) {
    const auto key = [](const Observation& o) {
        return std::tuple(o.series, o.block, o.arm, o.iteration, std::bit_cast<std::uint64_t>(o.value));
    };
    return key(a) < key(b);
}

/// The observations of one series in one boot that follow each other from `begin`.
std::span<const Observation> run_at(std::span<const Observation> observations, std::size_t begin) {
    const Observation& first = observations[begin];
    std::size_t end = begin + 1;
    while (end < observations.size() && observations[end].series == first.series &&
           observations[end].arm == first.arm && observations[end].block == first.block)
        ++end;
    return observations.subspan(begin, end - begin);
}

bool is_normal(double value) {
    return value >= std::numeric_limits<double>::min() && value <= std::numeric_limits<double>::max();
}

bool all_normal(std::span<const double> values) {
    bool all = true;
    for (const double value : values) all &= is_normal(value);
    return all;
}

bool same_boot(const Cell& a, const Cell& b) {
    return a.block == b.block && a.arm == b.arm;
}

}  // namespace

double Cells::score_of(int series, std::span<const double> values, std::span<const double> scaled) const {
    const auto& of_series = series_[static_cast<std::size_t>(series)];
    if (!of_series.quantile) return mean(scaled);
    const double value = quantile(values, *of_series.quantile);
    return of_series.scale == Scale::log ? std::log(value) : value;
}

Cells::Cells(const Input& input) : series_(input.series.size() + 1), arms_(input.arms.size()) {
    for (std::size_t s = 0; s < input.series.size(); ++s) {
        series_[s].scale = input.series[s].scale;
        const auto& q = input.series[s].quantile;
        if (q && *q > 0 && *q < 1) series_[s].quantile = q;
    }
    std::vector<int> excluded = input.excluded_blocks;
    std::sort(excluded.begin(), excluded.end());
    if (!place(input.observations, excluded)) {
        auto sorted = input.observations;
        std::sort(sorted.begin(), sorted.end(), before);
        place(sorted, excluded);
    }
    for (std::size_t s = 0; s < input.series.size(); ++s) finish(s);
    collect_blocks();
}

std::span<const Cell> Cells::of(int series) const {
    const auto s = static_cast<std::size_t>(series);
    return std::span(cells_).subspan(series_[s].cells, series_[s + 1].cells - series_[s].cells);
}

/// Values and boots of each series. False when a boot's values do not stand together, ascending by iteration, so that
/// the observations must be sorted first.
bool Cells::place(std::span<const Observation> observations, const std::vector<int>& excluded) {
    const bool ordered = count(observations, excluded);
    values_.resize(series_.back().values);
    iterations_.resize(values_.size());
    cells_.assign(series_.back().cells, Cell{});
    struct Next {
        std::size_t value = 0, cell = 0;
        Cell* open = nullptr;
    };
    std::vector<Next> next(series_.size());
    for (std::size_t s = 0; s < series_.size(); ++s) next[s] = {series_[s].values, series_[s].cells, nullptr};
    const auto arms = static_cast<int>(arms_), count = static_cast<int>(series_.size()) - 1;
    for (std::size_t i = 0; i < observations.size();) {
        const auto run = run_at(observations, i);
        const Observation& o = run.front();
        i += run.size();
        if (o.arm < 0 || o.arm >= arms || o.series < 0 || o.series >= count) continue;
        if (std::binary_search(excluded.begin(), excluded.end(), o.block)) continue;
        Next& to = next[static_cast<std::size_t>(o.series)];
        if (to.open == nullptr || to.open->block != o.block || to.open->arm != o.arm) {
            to.open = &cells_[to.cell++];
            to.open->block = o.block;
            to.open->arm = o.arm;
            to.open->begin = static_cast<std::uint32_t>(to.value);
        }
        to.open->size += static_cast<std::uint32_t>(run.size());
        for (const Observation& one : run) {
            values_[to.value] = one.value;
            iterations_[to.value++] = one.iteration;
        }
    }
    return sort_cells() && ordered;
}

/// How many values and runs of values of one boot each series has: where its values and cells begin.
bool Cells::count(std::span<const Observation> observations, const std::vector<int>& excluded) {
    struct Last {
        int block = 0, arm = -1, iteration = 0;
        std::size_t values = 0, cells = 0;
    };
    std::vector<Last> last(series_.size());
    const auto arms = static_cast<int>(arms_), count = static_cast<int>(series_.size()) - 1;
    bool ordered = true;
    stray_ = 0;
    for (std::size_t i = 0; i < observations.size();) {
        const auto run = run_at(observations, i);
        const Observation& o = run.front();
        i += run.size();
        if (o.arm < 0 || o.arm >= arms || o.series < 0 || o.series >= count) {
            stray_ += run.size();
            continue;
        }
        if (std::binary_search(excluded.begin(), excluded.end(), o.block)) continue;
        for (std::size_t k = 1; k < run.size(); ++k) ordered &= run[k - 1].iteration < run[k].iteration;
        Last& at = last[static_cast<std::size_t>(o.series)];
        if (at.block == o.block && at.arm == o.arm) {
            ordered &= at.iteration < o.iteration;
        } else {
            ++at.cells;
            at.block = o.block;
            at.arm = o.arm;
        }
        at.iteration = run.back().iteration;
        at.values += run.size();
    }
    series_[0].values = series_[0].cells = 0;
    for (std::size_t s = 0; s + 1 < series_.size(); ++s) {
        series_[s + 1].values = series_[s].values + last[s].values;
        series_[s + 1].cells = series_[s].cells + last[s].cells;
    }
    return ordered;
}

/// False when a boot has two cells in a series: its values did not stand together.
bool Cells::sort_cells() {
    const auto less = [](const Cell& a, const Cell& b) { return std::tie(a.block, a.arm) < std::tie(b.block, b.arm); };
    for (std::size_t s = 0; s + 1 < series_.size(); ++s) {
        const auto begin = cells_.begin() + static_cast<std::ptrdiff_t>(series_[s].cells);
        const auto end = cells_.begin() + static_cast<std::ptrdiff_t>(series_[s + 1].cells);
        if (!std::is_sorted(begin, end, less)) std::sort(begin, end, less);
        if (std::adjacent_find(begin, end, same_boot) != end) return false;
    }
    return true;
}

void Cells::finish(std::size_t series) {
    const auto& here = series_[series];
    const std::size_t begin = here.values, size = series_[series + 1].values - begin;
    if (scaled_.empty()) scaled_.resize(values_.size());
    const auto values = std::span(values_).subspan(begin, size);
    const auto scaled = std::span(scaled_).subspan(begin, size);
    const bool normal = all_normal(values);
    if (here.scale == Scale::log && normal)
        log_all(values, scaled);
    else
        std::copy(values.begin(), values.end(), scaled.begin());
    const auto number = static_cast<int>(series);
    for (std::size_t c = here.cells; c < series_[series + 1].cells; ++c) {
        Cell& cell = cells_[c];
        if (!normal) finish_cell(cell, here.scale);
        if (cell.state == Cell::State::ok) cell.score = score_of(number, this->values(cell), this->scaled(cell));
    }
    series_[series].regular = is_regular(series);
}

/// Of a series with values that are 0, negative, no numbers or all but 0.
void Cells::finish_cell(Cell& cell, Scale scale) {
    for (std::size_t i = cell.begin; i < cell.begin + cell.size; ++i) {
        if (!std::isfinite(values_[i])) {
            cell.state = Cell::State::not_finite;
            return;
        }
        if (scale == Scale::linear) continue;
        if (values_[i] <= 0)
            cell.state = Cell::State::not_positive;
        else if (is_normal(values_[i]))
            log_all(std::span(values_).subspan(i, 1), std::span(scaled_).subspan(i, 1));
        else
            scaled_[i] = std::log(values_[i]);
    }
}

bool Cells::is_regular(std::size_t series) const {
    const auto cells = of(static_cast<int>(series));
    if (cells.empty() || cells.size() % arms_ != 0) return false;
    const auto first = iterations(cells.front());
    for (std::size_t c = 0; c < cells.size(); ++c) {
        const auto own = iterations(cells[c]);
        if (cells[c].state != Cell::State::ok || cells[c].arm != static_cast<int>(c % arms_) ||
            cells[c].block != cells[c - c % arms_].block ||
            !std::equal(own.begin(), own.end(), first.begin(), first.end()))
            return false;
    }
    return true;
}

void Cells::collect_blocks() {
    std::vector<int> of_series, all;
    for (std::size_t s = 0; s + 1 < series_.size(); ++s) {
        of_series.clear();
        for (const auto& cell : of(static_cast<int>(s)))
            if (of_series.empty() || of_series.back() != cell.block) of_series.push_back(cell.block);
        if (of_series == blocks_) continue;
        all.clear();
        std::set_union(blocks_.begin(), blocks_.end(), of_series.begin(), of_series.end(), std::back_inserter(all));
        blocks_.swap(all);
    }
}

}  // namespace kab::stats
