#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace kab {

/// The candidate nearest to `word` by Damerau-Levenshtein distance, if it is near
/// enough to be a slip (distance <= max(1, length / 3)); empty otherwise.
std::string suggest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace kab
