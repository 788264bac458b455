#include "common/suggest.h"

#include <algorithm>
#include <cstddef>

namespace kab {
namespace {

/// Optimal string alignment distance (Damerau-Levenshtein without overlapping transpositions).
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
    for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i)
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
            cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + change});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
        }
    return cost[a.size()][b.size()];
}

}  // namespace

std::string suggest(std::string_view word, const std::vector<std::string>& candidates) {
    if (word.size() > 64) return {};
    std::size_t best = std::max<std::size_t>(1, word.size() / 3) + 1;
    std::string nearest;
    for (const auto& candidate : candidates) {
        if (const auto d = distance(word, candidate); d < best) {
            best = d;
            nearest = candidate;
        }
    }
    return nearest;
}

}  // namespace kab
