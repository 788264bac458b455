// Files that were cut, doubled and scribbled on: an error with a place, or results that the analysis can bear.
#include "daemon/stats/analysis.h"
#include "daemon/stats/random.h"
#include "made.h"

namespace kab::results {
namespace {

std::string scribbled(std::string text, stats::SplitMix& random) {
    constexpr std::string_view bytes = "0,-\n\"{}[]:<e. \tBx\xff";
    for (auto left = random.below(6) + 1; left-- > 0 && !text.empty();) {
        const auto at = random.below(text.size());
        switch (random.below(4)) {
            case 0: text[at] = bytes[random.below(bytes.size())]; break;
            case 1: text.insert(at, 1, bytes[random.below(bytes.size())]); break;
            case 2: text.erase(at, random.below(20)); break;
            default: text.insert(at, text.substr(random.below(text.size()), random.below(40)));
        }
    }
    return text;
}

TEST(Mutilated, files_are_refused_with_a_place_or_read) {
    stats::SplitMix random(7);
    int read = 0, refused = 0;
    for (const char* name : {"blocks.csv", "column-old.txt", "hyperfine.json", "google-old.json", "go-old.txt",
                             "perf-old.csv", "perf-repeated.csv"}) {
        const auto whole = golden(name);
        const auto other = read_results(whole, name);
        ASSERT_TRUE(other);
        for (int i = 0; i < 300; ++i) {
            const auto results = read_results(scribbled(whole, random), "in");
            if (!results) {
                ++refused;
                ASSERT_EQ(results.error().fault, Fault::usage);
                ASSERT_TRUE(results.error().where.starts_with("in")) << results.error().text();
                ASSERT_FALSE(results.error().message.empty());
                continue;
            }
            ++read;
            const bool alone = results->arms.size() > 1;
            const auto ready =
                alone ? prepare({{"in", *results}}, {}) : prepare({{name, *other}, {"in", *results}}, {});
            if (!ready) {
                ASSERT_EQ(ready.error().fault, Fault::usage);
                continue;
            }
            for (const auto& row : stats::analyse(ready->input).comparisons)
                ASSERT_EQ(row.sentence.find("nan"), std::string::npos) << row.sentence;
        }
    }
    EXPECT_GT(read, 200);
    EXPECT_GT(refused, 200);
}

}  // namespace
}  // namespace kab::results
