#include "daemon/stats/cells.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <tuple>

#include "daemon/stats/describe.h"
#include "daemon/stats/sums.h"
#include "daemon/stats/vector_math.h"
#include "daemon/stats/wide.h"

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

bool ascending(std::span<const Observation> run) {
    for (std::size_t k = 1; k < run.size(); ++k)
        if (run[k - 1].iteration >= run[k].iteration) return false;
    return true;
}

/// Are the iterations of the run those that stand from `at` on?
bool goes_on(const std::vector<int>& iterations, std::size_t at, std::span<const Observation> run) {
    if (at + run.size() > iterations.size()) return false;
    for (std::size_t k = 0; k < run.size(); ++k)
        if (iterations[at + k] != run[k].iteration) return false;
    return true;
}

bool is_normal(double value) {
    return value >= std::numeric_limits<double>::min() && value <= std::numeric_limits<double>::max();
}

KAB_WIDE bool all_normal(std::span<const double> values) {
    constexpr double least = std::numeric_limits<double>::min(), most = std::numeric_limits<double>::max();
    const double* const at = values.data();
    const std::size_t n = values.size();
    std::int64_t odd = 0;  // as wide as the values, so that many are looked at together
    for (std::size_t i = 0; i < n; ++i) odd += at[i] >= least && at[i] <= most ? 0 : 1;
    return odd == 0;
}

bool same_boot(const Cell& a, const Cell& b) {
    return a.block == b.block && a.arm == b.arm;
}

}  // namespace

double Cells::score_of(int series, std::span<const double> values) const {
    const auto& of_series = series_[static_cast<std::size_t>(series)];
    if (!of_series.quantile) return mean(values);
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
    const bool table = excluded.empty() && place_table(input.observations);
    if (!table && !place(input.observations, excluded)) {
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

/// False when the observations are not what most evaluations have: every boot with all series, with the same iterations
/// in each, and every block with all arms, all ascending, boot by boot. Then one pass over them is enough.
bool Cells::place_table(std::span<const Observation> observations) {
    const std::size_t count = series_.size() - 1;
    if (observations.empty() || count == 0 || arms_ == 0) return false;
    const auto first = run_at(observations, 0);
    const std::size_t width = first.size(), boots = observations.size() / (width * count);
    if (boots * width * count != observations.size() || boots % arms_ != 0 || !ascending(first)) return false;
    size_ = observations.size();
    values_ = std::make_unique_for_overwrite<double[]>(size_);
    const Observation* o = observations.data();
    for (std::size_t boot = 0; boot < boots; ++boot) {
        const int block = o->block, arm = static_cast<int>(boot % arms_);
        if (arm == 0 && boot > 0 && o[-1].block >= block) return false;
        if (arm > 0 && o[-1].block != block) return false;
        int differ = 0;  // no bit of any of them may
        for (std::size_t s = 0; s < count; ++s) {
            double* const to = &values_[(s * boots + boot) * width];
            for (std::size_t k = 0; k < width; ++k, ++o) {
                differ |= (o->block ^ block) | (o->arm ^ arm) | (o->series ^ static_cast<int>(s)) |
                          (o->iteration ^ first[k].iteration);
                to[k] = o->value;
            }
        }
        if (differ != 0) return false;
    }
    make_table_cells(observations, width);
    return true;
}

void Cells::make_table_cells(std::span<const Observation> observations, std::size_t width) {
    const std::size_t count = series_.size() - 1, boots = size_ / (width * count);
    for (std::size_t k = 0; k < width; ++k) iterations_.push_back(observations[k].iteration);
    std::vector<int> blocks;
    blocks.reserve(boots / arms_);
    for (std::size_t i = 0; i < size_; i += width * count * arms_) blocks.push_back(observations[i].block);
    cells_.reserve(count * boots);
    for (std::size_t s = 0; s <= count; ++s) {
        series_[s].cells = s * boots;
        series_[s].values = s * boots * width;
        series_[s].table = true;
        if (s == count) break;
        std::size_t begin = series_[s].values;
        for (const int block : blocks)
            for (std::size_t arm = 0; arm < arms_; ++arm, begin += width)
                cells_.push_back({block, static_cast<int>(arm), static_cast<std::uint32_t>(begin),
                                  static_cast<std::uint32_t>(width)});
    }
}

/// Values and boots of each series. False when a boot's values do not stand together, ascending by iteration, so that
/// the observations must be sorted first.
bool Cells::place(std::span<const Observation> observations, const std::vector<int>& excluded) {
    const bool ordered = count(observations, excluded);
    size_ = series_.back().values;
    values_ = std::make_unique_for_overwrite<double[]>(size_);
    place_iterations();
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
        const OfSeries& series = series_[static_cast<std::size_t>(o.series)];
        Next& to = next[static_cast<std::size_t>(o.series)];
        if (to.open == nullptr || to.open->block != o.block || to.open->arm != o.arm) {
            to.open = &cells_[to.cell++];
            to.open->block = o.block;
            to.open->arm = o.arm;
            to.open->begin = static_cast<std::uint32_t>(to.value);
            to.open->first_iteration =
                static_cast<std::uint32_t>(series.first_iteration + (series.alike ? 0 : to.value - series.values));
        }
        to.open->size += static_cast<std::uint32_t>(run.size());
        if (!series.alike)
            for (std::size_t k = 0; k < run.size(); ++k)
                iterations_[series.first_iteration + to.value - series.values + k] = run[k].iteration;
        for (const Observation& one : run) values_[to.value++] = one.value;
    }
    return sort_cells() && ordered;
}

/// How many values and runs of values of one boot each series has: where its values and cells begin. Whether all its
/// boots have the same iterations.
bool Cells::count(std::span<const Observation> observations, const std::vector<int>& excluded) {
    struct Last {
        int block = 0, arm = -1, iteration = 0;
        std::size_t values = 0, cells = 0, size = 0;  ///< size: of the last cell
    };
    std::vector<Last> last(series_.size());
    for (auto& series : series_) {
        series.alike = true;
        series.iterations.clear();
    }
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
        OfSeries& series = series_[static_cast<std::size_t>(o.series)];
        Last& at = last[static_cast<std::size_t>(o.series)];
        const bool fresh = at.block != o.block || at.arm != o.arm;
        if (fresh) {
            series.alike &= at.size == series.iterations.size();
            ++at.cells;
            at.block = o.block;
            at.arm = o.arm;
            at.size = 0;
        }
        // What goes on as in the first boot is ordered if that is.
        if (at.cells == 1 || !series.alike || !goes_on(series.iterations, at.size, run)) {
            ordered &= ascending(run) && (fresh || at.iteration < o.iteration);
            series.alike &= at.cells == 1;
        }
        if (at.cells == 1)
            for (const Observation& one : run) series.iterations.push_back(one.iteration);
        at.iteration = run.back().iteration;
        at.size += run.size();
        at.values += run.size();
    }
    series_[0].values = series_[0].cells = 0;
    for (std::size_t s = 0; s + 1 < series_.size(); ++s) {
        series_[s].alike &= last[s].size == series_[s].iterations.size();
        series_[s + 1].values = series_[s].values + last[s].values;
        series_[s + 1].cells = series_[s].cells + last[s].cells;
    }
    return ordered;
}

void Cells::place_iterations() {
    iterations_.clear();
    for (std::size_t s = 0; s + 1 < series_.size(); ++s) {
        series_[s].first_iteration = iterations_.size();
        if (series_[s].alike)
            iterations_.insert(iterations_.end(), series_[s].iterations.begin(), series_[s].iterations.end());
        else
            iterations_.resize(iterations_.size() + series_[s + 1].values - series_[s].values);
    }
}

/// False when a boot has two cells in a series: its values did not stand together.
bool Cells::sort_cells() {
    const auto less = [](const Cell& a, const Cell& b) { return std::tie(a.block, a.arm) < std::tie(b.block, b.arm); };
    for (std::size_t s = 0; s + 1 < series_.size(); ++s) {
        const auto begin = cells_.begin() + static_cast<std::ptrdiff_t>(series_[s].cells);
        const auto end = cells_.begin() + static_cast<std::ptrdiff_t>(series_[s + 1].cells);
        const bool sorted = std::is_sorted(begin, end, less);
        if (!sorted) std::sort(begin, end, less);
        series_[s].table = sorted && series_[s].alike;
        if (std::adjacent_find(begin, end, same_boot) != end) return false;
    }
    return true;
}

/// Summaries of the values as observed, which their logarithms then replace; scores.
void Cells::finish(std::size_t series) {
    auto& here = series_[series];
    const auto cells = std::span(cells_).subspan(here.cells, series_[series + 1].cells - here.cells);
    const auto values = std::span(values_.get(), size_).subspan(here.values, series_[series + 1].values - here.values);
    const auto number = static_cast<int>(series);
    const bool normal = all_normal(values);
    if (!normal) find_states(cells, here.scale);
    take_means(here, cells);
    add_summaries(number, cells, {{values_.get(), size_}, means_}, arms_, summaries_);
    if (here.quantile) {
        for (Cell& cell : cells)
            if (cell.state == Cell::State::ok) cell.score = score_of(number, this->values(cell));
    } else {
        if (here.scale == Scale::log) {
            if (normal)
                log_all(values, values);
            else
                take_logarithms(cells);
            take_means(here, cells);
        }
        for (std::size_t c = 0; c < cells.size(); ++c)
            if (cells[c].state == Cell::State::ok) cells[c].score = means_[c];
    }
    here.regular = is_regular(series);
}

/// The means of the boots, as their values stand now, into means_.
void Cells::take_means(const OfSeries& series, std::span<const Cell> cells) {
    means_.resize(cells.size());
    if (cells.empty()) return;
    if (series.table)
        return row_means(std::span(values_.get() + series.values, cells.size() * cells.front().size),
                         cells.front().size, means_);
    for (std::size_t c = 0; c < cells.size(); ++c) means_[c] = mean(values(cells[c]));
}

/// Of a series with values that are 0, negative, no numbers or all but 0.
void Cells::find_states(std::span<Cell> cells, Scale scale) {
    for (Cell& cell : cells) {
        for (const double value : values(cell)) {
            if (!std::isfinite(value)) {
                cell.state = Cell::State::not_finite;
                break;
            }
            if (scale == Scale::log && value <= 0) cell.state = Cell::State::not_positive;
        }
    }
}

void Cells::take_logarithms(std::span<const Cell> cells) {
    for (const Cell& cell : cells) {
        if (cell.state != Cell::State::ok) continue;
        for (double& value : std::span(values_.get() + cell.begin, cell.size)) {
            if (is_normal(value))
                log_all(std::span(&value, 1), std::span(&value, 1));
            else
                value = std::log(value);
        }
    }
}

bool Cells::is_regular(std::size_t series) const {
    const auto cells = of(static_cast<int>(series));
    if (cells.empty() || cells.size() % arms_ != 0 || !series_[series].alike) return false;
    for (std::size_t block = 0; block < cells.size(); block += arms_)
        for (std::size_t a = 0; a < arms_; ++a) {
            const Cell& cell = cells[block + a];
            if (cell.state != Cell::State::ok || cell.arm != static_cast<int>(a) || cell.block != cells[block].block)
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
