#include "daemon/stats/exact.h"

#include <fmt/core.h>

#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <tuple>

#include "daemon/stats/describe.h"

namespace kab::stats {
namespace {

/// series, block, iteration
using Place = std::tuple<int, int, int>;

std::string figure(const std::map<Place, double>& values, const Place& place, const std::string& unit) {
    const auto found = values.find(place);
    if (found == values.end()) return "none";
    return fmt::format("{}{}", found->second, unit.empty() || unit == "1" ? "" : " " + unit);
}

std::set<int> blocks_of(const std::map<Place, double>& values) {
    std::set<int> blocks;
    for (const auto& [place, value] : values) blocks.insert(std::get<1>(place));
    return blocks;
}

}  // namespace

std::optional<std::string> inexact_control(const Input& input) {
    std::map<int, std::map<Place, double>> values;  // by arm
    for (const auto& o : input.observations) {
        const bool known = o.series >= 0 && o.series < static_cast<int>(input.series.size());
        if (known && std::isfinite(o.value)) values[o.arm][{o.series, o.block, o.iteration}] = o.value;
    }
    for (std::size_t a = 0; a < input.arms.size(); ++a) {
        const auto& arm = input.arms[a];
        const auto arms = static_cast<int>(input.arms.size());
        if (!arm.control || arm.against < 0 || arm.against >= arms) continue;
        const auto &own = values[static_cast<int>(a)], &other = values[arm.against];
        const auto own_blocks = blocks_of(own), other_blocks = blocks_of(other);
        auto all = own;
        all.insert(other.begin(), other.end());
        for (const auto& [place, value] : all) {
            const auto [s, block, iteration] = place;
            // A boot that failed is another matter.
            if (!own_blocks.contains(block) || !other_blocks.contains(block)) continue;
            const auto mine = own.find(place), theirs = other.find(place);
            if (mine != own.end() && theirs != other.end() && mine->second == theirs->second) continue;
            const auto& series = input.series[static_cast<std::size_t>(s)];
            return fmt::format(
                "the control {} is not exactly the same as {} though it is the same kernel under the same seed: {} in "
                "block {}, iteration {}: {} against {}",
                arm.name, input.arms[static_cast<std::size_t>(arm.against)].name, series_name(series), block,
                iteration + 1, figure(own, place, series.unit), figure(other, place, series.unit));
        }
    }
    return std::nullopt;
}

}  // namespace kab::stats
