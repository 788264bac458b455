#include "daemon/stats/describe.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "daemon/stats/fisher.h"
#include "daemon/stats/sums.h"

namespace kab::stats {
namespace {

/// What the boots of one arm have given of a series.
struct Seen {
    std::vector<double> boot_means;
    std::size_t values = 0;
    double least = std::numeric_limits<double>::infinity(), most = -std::numeric_limits<double>::infinity();

    void add(std::span<const double> of_boot, double mean) {
        boot_means.push_back(mean);
        values += of_boot.size();
        double low = least, high = most;  // in registers meanwhile
        for (const double value : of_boot) {
            low = std::min(low, value);
            high = std::max(high, value);
        }
        least = low;
        most = high;
    }
};

Summary summary_of(const Seen& seen) {
    Summary result;
    const Moments m = moments(seen.boot_means);
    result.boots = static_cast<int>(m.n);
    result.values = static_cast<int>(seen.values);
    result.mean = m.mean;
    const double relative = std::sqrt(m.variance) / std::abs(m.mean);
    if (m.n >= 2 && std::isfinite(relative)) result.relative_sd = relative;
    result.min = seen.least;
    result.max = seen.most;
    return result;
}

}  // namespace

std::string series_name(const Series& series) {
    std::string name = series.workload.empty() ? series.metric : series.workload + "/" + series.metric;
    return series.point.empty() ? name : name + " (" + series.point + ")";
}

void add_summaries(int series, std::span<const Cell> cells, const Observed& observed, std::size_t arms,
                   std::vector<Summary>& out) {
    std::vector<Seen> seen(arms);
    for (auto& arm : seen) arm.boot_means.reserve(cells.size() / arms + 1);
    std::vector<double> finite;
    for (std::size_t c = 0; c < cells.size(); ++c) {
        const Cell& cell = cells[c];
        const auto values = observed.values.subspan(cell.begin, cell.size);
        Seen& of_arm = seen[static_cast<std::size_t>(cell.arm)];
        if (cell.state != Cell::State::not_finite) {
            of_arm.add(values, observed.means[c]);
            continue;
        }
        finite.clear();
        for (const double value : values)
            if (std::isfinite(value)) finite.push_back(value);
        if (!finite.empty()) of_arm.add(finite, mean(finite));
    }
    for (std::size_t a = 0; a < arms; ++a) {
        if (seen[a].values == 0) continue;
        Summary summary = summary_of(seen[a]);
        summary.arm = static_cast<int>(a);
        summary.series = series;
        out.push_back(summary);
    }
}

std::vector<BootValues> boots_of(const Cells& cells, int series) {
    std::vector<BootValues> result;
    const auto of_series = cells.of(series);
    result.reserve(of_series.size());
    for (const auto& cell : of_series)
        if (cell.state == Cell::State::ok)
            result.push_back({cell.block, cell.arm, cells.values(cell), cells.iterations(cell), cell.score});
    return result;
}

namespace {

/// The mean over the points of a sweep, run by run, of one boot.
struct MeanBoot {
    std::vector<double> values;
    std::vector<int> iterations;
    std::size_t points = 0;
};

/// By block and arm; of boots that have all points, with the same runs at each.
std::map<std::pair<int, int>, MeanBoot> means_over_points(const Cells& cells, const std::vector<int>& points) {
    std::map<std::pair<int, int>, MeanBoot> boots;
    for (const int point : points)
        for (const auto& cell : cells.of(point)) {
            if (cell.state != Cell::State::ok) continue;
            auto& boot = boots[{cell.block, cell.arm}];
            const auto values = cells.values(cell);
            const auto iterations = cells.iterations(cell);
            if (boot.points == 0) {
                boot.iterations.assign(iterations.begin(), iterations.end());
                boot.values.assign(values.size(), 0);
            }
            if (!std::equal(iterations.begin(), iterations.end(), boot.iterations.begin(), boot.iterations.end()))
                continue;
            for (std::size_t i = 0; i < values.size(); ++i)
                boot.values[i] += values[i] / static_cast<double>(points.size());
            ++boot.points;
        }
    std::erase_if(boots, [&](const auto& one) { return one.second.points != points.size(); });
    return boots;
}

/// What is compared of a sweep is the mean over its points: runs vary less in it, and of the luck of a boot what the
/// points share stays.
std::optional<int> best_iterations_of_mean(const Cells& cells, const std::vector<int>& points, double cost_boot,
                                           double cost_iteration) {
    const auto means = means_over_points(cells, points);
    std::vector<BootValues> boots;
    for (const auto& [where, boot] : means) boots.push_back({where.first, where.second, boot.values, boot.iterations});
    return best_iterations(variance_components(boots), cost_boot, cost_iteration);
}

/// All series of the metric that `series` is of, whose mean is judged; itself where it is judged apart.
std::vector<int> points_of(const Input& input, const Series& series) {
    std::vector<int> points;
    for (std::size_t s = 0; s < input.series.size(); ++s)
        if (series.apart ? &input.series[s] == &series
                         : input.series[s].workload == series.workload && input.series[s].metric == series.metric)
            points.push_back(static_cast<int>(s));
    return points;
}

}  // namespace

std::vector<VarianceComponents> components_of(const Input& input, const Cells& cells, double cost_boot,
                                              double cost_iteration) {
    std::vector<VarianceComponents> result;
    std::map<int, std::optional<int>> of_mean;  // by the first point
    for (std::size_t s = 0; s < input.series.size(); ++s) {
        // Components explain a mean over iterations, not a quantile of them.
        if (input.series[s].quantile) continue;
        const auto boots = boots_of(cells, static_cast<int>(s));
        if (boots.empty()) continue;
        const Components c = variance_components(boots);
        const auto broken = [](std::optional<double> value) { return value && !std::isfinite(*value); };
        if (broken(c.block) || broken(c.boot) || broken(c.iteration) || broken(c.trend)) continue;
        VarianceComponents row;
        row.series = static_cast<int>(s);
        row.block = c.block;
        row.boot = c.boot;
        row.iteration = c.iteration;
        row.trend = c.trend;
        result.push_back(row);
        if (!input.series[s].primary || !(cost_boot > 0) || !(cost_iteration > 0)) continue;
        const auto points = points_of(input, input.series[s]);
        if (points.size() == 1)
            result.back().best_iterations = best_iterations(c, cost_boot, cost_iteration);
        else if (points.front() == static_cast<int>(s))
            of_mean[points.front()] = best_iterations_of_mean(cells, points, cost_boot, cost_iteration);
        if (points.size() > 1) result.back().best_iterations = of_mean[points.front()];
    }
    return result;
}

std::vector<ArmFailure> failures_of(const Input& input) {
    std::vector<ArmFailure> result;
    for (std::size_t a = 0; a < input.arms.size(); ++a) {
        const auto& arm = input.arms[a];
        if (arm.against < 0 || arm.against >= static_cast<int>(input.arms.size())) continue;
        const auto& against = input.arms[static_cast<std::size_t>(arm.against)];
        ArmFailure row{static_cast<int>(a), arm.against, arm.failed, arm.boots, against.failed, against.boots, {}};
        const bool sane = arm.failed >= 0 && arm.failed <= arm.boots && against.failed >= 0 &&
                          against.failed <= against.boots && arm.boots > 0 && against.boots > 0;
        if (sane) row.p = fisher_exact(arm.failed, arm.boots, against.failed, against.boots);
        result.push_back(row);
    }
    return result;
}

}  // namespace kab::stats
