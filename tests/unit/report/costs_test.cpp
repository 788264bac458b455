// What one more iteration costs, and what a boot does without it.
#include "daemon/report/costs.h"

#include <gmock/gmock.h>

#include "daemon/report/document.h"
#include "tests/unit/report/changed_report.h"

namespace kab::report {
namespace {

using test::changed;
using test::SampleOptions;
using testing::HasSubstr;
using testing::Not;

/// Every run takes a second, everything else of a boot ten.
ReportInput timed(const SampleOptions& options, int runs_a_boot) {
    return changed(options, [&](ReportInput& rows) {
        for (auto& boot : rows.boots) {
            boot.setup_ns = 2'000'000'000;
            boot.hello_ns = 7'000'000'000;
            boot.teardown_ns = 1'000'000'000;
            boot.work_ns = std::int64_t{1'000'000'000} * runs_a_boot;
        }
    });
}

TEST(Costs, OfABootAreAllButTheIterationsOfThePrimary) {
    SampleOptions options;
    options.iterations = 5;
    options.warmup = 1;
    options.counter_iterations = 2;
    const auto costs = measured_costs(timed(options, 8));
    EXPECT_NEAR(costs.iteration_ns, 1e9, 1);
    EXPECT_NEAR(costs.boot_ns, 13e9, 1) << "ten seconds, a warm-up and two runs with counters";
}

TEST(Costs, OfOneMoreIterationAreThoseOfARunAtEachPoint) {
    SampleOptions options;
    options.swept = true;
    options.warmup = 2;
    const auto costs = measured_costs(timed(options, 2 * (5 + 2 + 2)));
    EXPECT_NEAR(costs.iteration_ns, 2e9, 1);
    EXPECT_NEAR(costs.boot_ns, 18e9, 1) << "ten seconds, and at each point two warm-ups and two runs with counters";
}

TEST(Costs, AreUnknownWithoutABootThatCounts) {
    SampleOptions options;
    options.blocks = 0;
    const auto costs = measured_costs(changed(options, [](ReportInput&) {}));
    EXPECT_EQ(costs.boot_ns, 0);
    EXPECT_EQ(costs.iteration_ns, 0);
}

TEST(Costs, TheAdviceIsGivenOnceForASweepAndSaysWhereItEnds) {
    SampleOptions options;
    options.swept = true;
    const auto text = [&](std::int64_t work) {
        auto shown = plain(render_text(changed(options, [&](ReportInput& rows) {
            for (auto& boot : rows.boots) boot.work_ns = work;
        })));
        for (auto& c : shown)
            if (c == '\n') c = ' ';
        while (shown.find("  ") != std::string::npos) shown.replace(shown.find("  "), 2, " ");
        return shown;
    };
    const auto cheap = text(1);
    EXPECT_THAT(cheap, HasSubstr("for the mean over the points, at this noise and cost, 100 or more iterations a boot "
                                 "would be best"));
    const auto dear = text(INT64_C(1'000'000'000'000));
    EXPECT_THAT(dear, HasSubstr("for the mean over the points, at this noise and cost, "));
    EXPECT_THAT(dear, Not(HasSubstr("or more iterations")));
    EXPECT_EQ(dear.find("would be best"), dear.rfind("would be best"));
}

}  // namespace
}  // namespace kab::report
