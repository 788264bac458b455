#include "common/score.h"

#include <fmt/core.h>

#include <cmath>

namespace kab {
namespace {

constexpr int all_tenths = 1000;  ///< of 100%

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

}  // namespace

std::optional<Score> parse_score(std::string_view word) {
    if (word == "mean") return Score{};
    if (word == "median") return Score{0.5};
    if (word.size() < 2 || word.front() != 'p' || word[1] == '0') {
        if (word.size() != 4 || word.substr(0, 3) != "p0.") return std::nullopt;
    }
    word.remove_prefix(1);
    int tenths = 0;
    std::size_t i = 0;
    for (; i < word.size() && i < 2 && is_digit(word[i]); ++i) tenths = 10 * tenths + (word[i] - '0');
    if (i == 0) return std::nullopt;
    tenths *= 10;
    if (i < word.size()) {
        if (word[i] != '.' || word.size() != i + 2 || !is_digit(word[i + 1])) return std::nullopt;
        tenths += word[i + 1] - '0';
    }
    if (tenths == 0) return std::nullopt;
    return Score{static_cast<double>(tenths) / all_tenths};
}

std::string score_word(std::optional<double> quantile) {
    if (!quantile) return "mean";
    if (*quantile == 0.5) return "median";
    const auto tenths = std::lround(*quantile * all_tenths);
    if (tenths % 10 == 0) return fmt::format("p{}", tenths / 10);
    return fmt::format("p{}.{}", tenths / 10, tenths % 10);
}

}  // namespace kab
