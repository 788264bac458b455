#include "daemon/stats/sorting.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "daemon/stats/hodges_lehmann.h"
#include "daemon/stats/random.h"
#include "daemon/stats/signed_rank.h"
#include "tests/unit/stats/made.h"

namespace kab::stats {
namespace {

std::vector<double> random_values(SplitMix& random, std::size_t n, bool ties) {
    std::vector<double> values;
    for (std::size_t i = 0; i < n; ++i) {
        const double value = normal(random);
        values.push_back(ties ? std::round(2 * value) + 0.0 : value);
    }
    return values;
}

TEST(Sorting, IsThatOfTheLibraryForEverySize) {
    SplitMix random(1);
    for (std::size_t n = 0; n <= 70; ++n)
        for (const bool ties : {false, true}) {
            auto values = random_values(random, n, ties);
            if (n > 2) values[n / 2] = -std::numeric_limits<double>::infinity();
            if (n > 3) values[1] = 5e-324;
            auto expected = values;
            std::sort(expected.begin(), expected.end());
            sort_ascending(values);
            EXPECT_EQ(values, expected) << n;
        }
}

/// By definition, one average after the other.
TEST(Sorting, SignedRanksAndMedianAreThoseOfAllWalshAverages) {
    SplitMix random(2);
    for (std::size_t n = 2; n <= 70; ++n)
        for (const bool ties : {false, true}) {
            const auto d = random_values(random, n, ties);
            std::vector<double> averages;
            double w = 0;
            std::size_t zeros = 0;
            for (std::size_t i = 0; i < n; ++i) {
                zeros += d[i] == 0 ? 1 : 0;
                for (std::size_t j = i; j < n; ++j) {
                    averages.push_back(d[i] / 2 + d[j] / 2);
                    if (d[i] != 0 && d[j] != 0) w += d[i] + d[j] > 0 ? 1 : d[i] + d[j] == 0 ? .5 : 0;
                }
            }
            std::sort(averages.begin(), averages.end());
            const double low = averages[(averages.size() - 1) / 2], high = averages[averages.size() / 2];
            EXPECT_EQ(hodges_lehmann(d).estimate, low + (high - low) / 2) << n;
            const SignedRank ranks = signed_rank(d);
            EXPECT_EQ(ranks.w, w) << n;
            EXPECT_EQ(ranks.n, static_cast<int>(n - zeros)) << n;
        }
}

}  // namespace
}  // namespace kab::stats
