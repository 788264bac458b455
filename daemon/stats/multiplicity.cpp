#include "daemon/stats/multiplicity.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace kab::stats {
namespace {

std::vector<std::size_t> ascending(std::span<const double> p) {
    std::vector<std::size_t> order(p.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
    return order;
}

}  // namespace

std::vector<double> holm(std::span<const double> p) {
    std::vector<double> adjusted(p.size());
    const auto order = ascending(p);
    double least = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        least = std::max(least, std::min(1.0, static_cast<double>(p.size() - i) * p[order[i]]));
        adjusted[order[i]] = least;
    }
    return adjusted;
}

std::vector<double> benjamini_hochberg(std::span<const double> p) {
    std::vector<double> adjusted(p.size());
    const auto order = ascending(p);
    double most = 1;
    for (std::size_t i = order.size(); i-- > 0;) {
        most = std::min(most, static_cast<double>(p.size()) / static_cast<double>(i + 1) * p[order[i]]);
        adjusted[order[i]] = most;
    }
    return adjusted;
}

}  // namespace kab::stats
