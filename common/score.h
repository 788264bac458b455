#pragma once
// What stands for a boot's iterations of a metric: their mean, or a quantile of them.
#include <optional>
#include <string>
#include <string_view>

namespace kab {

struct Score {
    std::optional<double> quantile;  ///< between 0 and 1; absent: the mean
};

/// "mean", "median", "p90", "p99.9": p and a percentage above 0 and below 100, at most one decimal. nullopt for any
/// other word.
std::optional<Score> parse_score(std::string_view word);

/// The word for a score, always the same one: "median" for p50.
std::string score_word(std::optional<double> quantile);

inline constexpr std::string_view score_rule = "mean, median, or a percentile such as p90, p99 or p99.9";

}  // namespace kab
