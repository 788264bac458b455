// `score: p90` of a workload, from the stored experiment to the words of the report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "common/json.h"
#include "daemon/report/compose.h"
#include "daemon/report/gather.h"
#include "daemon/stats/sums.h"
#include "tests/unit/report/changed_report.h"

namespace kab::report {
namespace {

using test::changed;
using testing::HasSubstr;
using testing::Not;

/// Without its line breaks.
std::string unwrapped(std::string text) {
    text = plain(std::move(text));
    std::string result;
    for (const char c : text) {
        const bool space = c == ' ' || c == '\n';
        if (!space || result.empty() || result.back() != ' ') result += space ? ' ' : c;
    }
    return result;
}

void declare(ReportInput& rows, const std::string& word) {
    auto experiment = parse_json(rows.tree.evaluation.experiment_json).value();
    experiment["workloads"] = Json::array({{{"workload", "ipcns-exit"}, {"score", word}}});
    rows.tree.evaluation.experiment_json = dump_json(experiment);
}

/// Mean over the blocks of log(quantile of the arm's iterations) - that of its baseline, from the samples themselves.
double expected(const ReportInput& report, const stats::Comparison& c, double q) {
    std::map<std::pair<int, int>, std::vector<double>> values;  // block, arm
    for (const auto& o : report.input.observations)
        if (o.series == c.series) values[{o.block, o.arm}].push_back(o.value);
    double sum = 0;
    int n = 0;
    for (const auto& [key, of_arm] : values) {
        if (key.second != c.arm || !values.contains({key.first, c.against})) continue;
        const auto& of_base = values.at({key.first, c.against});
        sum += std::log(stats::quantile(of_arm, q) / stats::quantile(of_base, q));
        ++n;
    }
    return std::exp(sum / n);
}

TEST(Score, OfADeclaredPercentileIsWhatIsCompared) {
    const auto report = changed({}, [](ReportInput& rows) { declare(rows, "p90"); });
    const auto* primary = primary_of(report, 2);
    ASSERT_NE(primary, nullptr);
    ASSERT_TRUE(primary->estimate);
    EXPECT_NEAR(primary->estimate->value, expected(report, *primary, 0.9), 1e-12);
    EXPECT_NE(primary->estimate->value, primary_of(changed({}, [](ReportInput&) {}), 2)->estimate->value);
    for (const auto& series : report.input.series) EXPECT_EQ(series.quantile, 0.9);
    EXPECT_TRUE(report.output.components.empty());
}

TEST(Score, IsNamedWhereverValuesStand) {
    const auto report = changed({}, [](ReportInput& rows) { declare(rows, "p90"); });
    const auto text = unwrapped(render_text(report, true));
    EXPECT_THAT(text, HasSubstr("Of a boot in ipcns-exit its p90 is compared, not its mean."));
    EXPECT_THAT(text, HasSubstr("means of all iterations; what is compared of a boot: the p90 of its iterations"));
    EXPECT_THAT(text, HasSubstr("the logarithm of the p90 of its timed iterations"));
    const auto tables = comparison_tables(report, "ipcns-exit", 2);
    ASSERT_FALSE(tables.empty());
    EXPECT_THAT(tables[0].notes, testing::Contains("what is compared of a boot: the p90 of its iterations"));
    EXPECT_EQ(parse_json(render_json(report)).value().at("summaries").at(0).at("score"), "p90");
    EXPECT_THAT(unwrapped(render_text(changed({}, [](ReportInput&) {}))), Not(HasSubstr("is compared, not its mean")));
}

TEST(Score, OfTheMeanIsTheDefault) {
    const auto report = changed({}, [](ReportInput& rows) { declare(rows, "mean"); });
    for (const auto& series : report.input.series) EXPECT_FALSE(series.quantile);
}

TEST(Score, AStoredWordThatIsNoneIsNamed) {
    const kab::test::SampleDatabase sample;
    auto tree = sample.store->tree(kab::test::sample_evaluation()).value();
    auto experiment = parse_json(tree.evaluation.experiment_json).value();
    experiment["workloads"] = Json::array({{{"workload", "ipcns-exit"}, {"score", "p100"}}});
    tree.evaluation.experiment_json = dump_json(experiment);
    const auto input = analysis_input(tree, {}, sample.store->samples(kab::test::sample_evaluation()).value(),
                                      sample.store->boots(kab::test::sample_evaluation()).value(), 0);
    ASSERT_FALSE(input);
    EXPECT_THAT(input.error().text(), HasSubstr("score must be mean, median"));
}

}  // namespace
}  // namespace kab::report
