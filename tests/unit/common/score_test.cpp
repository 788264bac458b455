#include "common/score.h"

#include <gtest/gtest.h>

namespace kab {
namespace {

TEST(Score, WordsAreReadAndWritten) {
    ASSERT_TRUE(parse_score("mean"));
    EXPECT_FALSE(parse_score("mean")->quantile);
    for (const auto& [word, quantile] : {std::pair{"median", 0.5},
                                         {"p90", 0.9},
                                         {"p99", 0.99},
                                         {"p99.9", 0.999},
                                         {"p1", 0.01},
                                         {"p0.1", 0.001},
                                         {"p12.5", 0.125},
                                         {"p5", 0.05}}) {
        const auto score = parse_score(word);
        ASSERT_TRUE(score) << word;
        EXPECT_EQ(score->quantile, quantile) << word;
        EXPECT_EQ(score_word(score->quantile), word);
    }
    EXPECT_EQ(score_word(std::nullopt), "mean");
}

TEST(Score, OneWordForEach) {
    EXPECT_EQ(score_word(parse_score("p50")->quantile), "median");
    EXPECT_EQ(score_word(parse_score("p90.0")->quantile), "p90");
}

TEST(Score, OtherWordsAreNone) {
    for (const auto* word : {"", "p", "p0", "p0.0", "p00", "p05", "p00.1", "p100", "p99.99", "p9.", "p.9", "P99",
                             "p99 ", "p-1", "99", "p9x", "max", "Mean", "p99%"})
        EXPECT_FALSE(parse_score(word)) << word;
}

}  // namespace
}  // namespace kab
