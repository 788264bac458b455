#include "daemon/stats/sorting.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "daemon/stats/wide.h"

namespace kab::stats {
namespace {

constexpr std::size_t few = 64;

/// How many values stand before each: those that are less, and equal ones that come earlier. All pairs are compared,
/// but many at a time and without a jump that depends on the data.
KAB_WIDE void count_before(const double* values, std::size_t n, std::int64_t* before) {
    for (std::size_t i = 0; i < n; ++i) before[i] = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const double own = values[i];
        for (std::size_t j = 0; j < i; ++j) before[j] += own < values[j] ? 1 : 0;
        for (std::size_t j = i + 1; j < n; ++j) before[j] += own <= values[j] ? 1 : 0;
    }
}

}  // namespace

void sort_ascending(std::span<double> values) {
    if (values.size() > few) return std::sort(values.begin(), values.end());
    std::array<double, few> copy;
    std::array<std::int64_t, few> before;
    std::copy(values.begin(), values.end(), copy.begin());
    count_before(copy.data(), values.size(), before.data());
    for (std::size_t i = 0; i < values.size(); ++i) values[static_cast<std::size_t>(before[i])] = copy[i];
}

}  // namespace kab::stats
