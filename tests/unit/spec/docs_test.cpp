// docs/experiment-yaml.md: its example is accepted, and its list of errors is what the parser says.
#include <gmock/gmock.h>

#include "common/files.h"
#include "common/workload_catalog.h"
#include "daemon/spec/parse.h"

namespace kab {
namespace {

std::string page() {
    const auto text = read_file(fs::path(KAB_SOURCE_DIR) / "docs/experiment-yaml.md");
    EXPECT_TRUE(text);
    return text.value_or("");
}

std::string between(const std::string& text, const std::string& from, const std::string& to) {
    const auto start = text.find(from);
    if (start == std::string::npos) return "";
    const auto begin = start + from.size();
    return text.substr(begin, text.find(to, begin) - begin);
}

TEST(ExperimentPage, ItsExampleIsAccepted) {
    const auto parsed = parse_experiment(between(page(), "```yaml\n", "```"), "f");
    ASSERT_TRUE(parsed) << parsed.error().front().text();
    EXPECT_EQ(parsed->experiment.arms.size(), 3U);
}

TEST(ExperimentPage, ItsErrorsAreWhatIsPrinted) {
    const auto parsed = parse_experiment(between(page(), "$ cat mistakes.yaml\n", "$ "), "mistakes.yaml");
    ASSERT_FALSE(parsed);
    std::string errors;
    for (const Error& error : parsed.error()) errors += error.text() + "\n";
    errors += fmt::format("kab: {} errors\n", parsed.error().size());
    EXPECT_EQ(between(page(), "$ kab check mistakes.yaml\n", "```"), errors);
}

TEST(ExperimentPage, NamesEveryWorkloadParameterMetricAndCounter) {
    const std::string text = page();
    for (const auto& workload : workloads()) {
        EXPECT_THAT(text, testing::HasSubstr(fmt::format("| `{}` |", workload.name)));
        for (const auto& p : workload.parameters) {
            EXPECT_THAT(text, testing::HasSubstr(fmt::format("`{}`: ", p.name)));
        }
        for (const auto& m : workload.metrics) EXPECT_THAT(text, testing::HasSubstr(fmt::format("`{}`", m.name)));
    }
    for (const auto& counter : counters()) EXPECT_THAT(text, testing::HasSubstr(fmt::format("`{}`", counter.name)));
    for (const auto& m : counter_run_metrics()) EXPECT_THAT(text, testing::HasSubstr(fmt::format("`{}`", m.name)));
    for (const auto& m : exact_run_metrics()) EXPECT_THAT(text, testing::HasSubstr(fmt::format("`{}`", m.name)));
    for (const auto& m : profile_run_metrics()) EXPECT_THAT(text, testing::HasSubstr(fmt::format("`{}`", m.name)));
}

}  // namespace
}  // namespace kab
