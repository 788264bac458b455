// Exact mode and relinked arms as a report tells of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "daemon/report/compose.h"
#include "daemon/report/gather.h"
#include "tests/unit/report/changed_report.h"

namespace kab::report {
namespace {

using test::changed;
using testing::HasSubstr;
using testing::Not;

/// Without breaks and runs of spaces.
std::string flat(const std::string& text) {
    std::string result;
    for (const char c : plain(text))
        if (c != '\n' && c != ' ')
            result += c;
        else if (!result.empty() && result.back() != ' ')
            result += ' ';
    return result;
}

/// In exact mode with a margin; every value of the control is its baseline's.
void make_exact(ReportInput& rows, double margin) {
    auto experiment = parse_json(rows.tree.evaluation.experiment_json).value();
    experiment["host"].update({{"exact", true}, {"vary_timer", true}, {"vary_layout", false}, {"cpus", 1}});
    experiment["decide"]["margin"] = margin;
    rows.tree.evaluation.experiment_json = dump_json(experiment);
    std::map<std::tuple<std::int64_t, std::int64_t, std::string>, std::optional<double>> values;
    for (const auto& sample : rows.samples)
        if (sample.arm == "inline-free") values[{sample.block, sample.seq, sample.metric}] = sample.value;
    for (auto& sample : rows.samples)
        if (sample.control) sample.value = values.at({sample.block, sample.seq, sample.metric});
}

TEST(ExactReport, SaysWhatItsFiguresAnswer) {
    const auto text = flat(render_text(changed({}, [](ReportInput& rows) { make_exact(rows, 0); })));
    EXPECT_THAT(text,
                HasSubstr("Exact mode counts instructions, one of them 1 ns: it says how many more, never how long, "
                          "and nothing about contention or caches."));
    EXPECT_THAT(text, HasSubstr("exact mode (the timer's phase differs from block to block)"));
    EXPECT_THAT(text, HasSubstr("emulated: not evidence for hardware"));
    EXPECT_THAT(text, HasSubstr("exactly the same, as it must be"));
    EXPECT_THAT(text, Not(HasSubstr("INVALID")));
    test::SampleOptions busy;
    busy.noisy = true;
    const auto exact = flat(render_text(changed(busy, [](ReportInput& rows) { make_exact(rows, 0); })));
    EXPECT_THAT(exact, HasSubstr("in exact mode none of this touches a figure"));
    EXPECT_THAT(exact, Not(HasSubstr("no exclusion was declared")));
    EXPECT_THAT(flat(render_text(changed(busy, [](ReportInput&) {}))), HasSubstr("no exclusion was declared"));
    const auto ordinary = flat(render_text(changed({}, [](ReportInput&) {})));
    EXPECT_THAT(ordinary, Not(HasSubstr("xact mode")));
}

TEST(ExactReport, AControlThatDiffersByOneVoidsIt) {
    const auto report = changed({}, [](ReportInput& rows) {
        make_exact(rows, 0);
        for (auto& sample : rows.samples)
            if (sample.control && !sample.warmup && sample.value) {
                *sample.value += 1;
                break;
            }
    });
    EXPECT_EQ(report.output.verdict, stats::Verdict::invalid);
    EXPECT_THAT(
        flat(render_text(report)),
        HasSubstr("INVALID, no claim can be made: stops at look 1 of 5 (6 blocks): invalid, the control A' is not "
                  "exactly the same as inline-free"));
}

TEST(ExactReport, TheSameIsTheSameAndASmallDifferenceIsBoth) {
    for (const double factor : {1.0, 1.001}) {
        const auto report = changed({}, [&](ReportInput& rows) {
            make_exact(rows, factor == 1 ? 0 : .02);
            std::map<std::pair<std::int64_t, std::int64_t>, double> values;
            for (const auto& sample : rows.samples)
                if (sample.arm == "inline-free" && sample.metric == "elapsed")
                    values[{sample.block, sample.seq}] = *sample.value;
            for (auto& sample : rows.samples)
                if (sample.arm == "deferred-free" && sample.metric == "elapsed")
                    sample.value = values.at({sample.block, sample.seq}) * factor;
        });
        EXPECT_THAT(flat(render_text(report)),
                    HasSubstr(factor == 1 ? "ipcns-exit/elapsed is exactly the same: "
                                          : "ipcns-exit/elapsed is equivalent within 2%, though not the same: "));
    }
}

TEST(ExactReport, ExplainsThatAMarginOfZeroIsOne) {
    const auto report = changed({}, [](ReportInput& rows) {
        make_exact(rows, 0);
        std::map<std::pair<std::int64_t, std::int64_t>, double> values;
        for (const auto& sample : rows.samples)
            if (sample.arm == "inline-free" && sample.metric == "backlog" && sample.value)
                values[{sample.block, sample.seq}] = *sample.value;
        for (auto& sample : rows.samples)
            if (sample.arm == "per-ns-work" && sample.metric == "backlog" && sample.value)
                sample.value = values.at({sample.block, sample.seq});
    });
    const auto text = flat(render_text(report, true));
    EXPECT_THAT(text, HasSubstr("margin 0, any difference that is shown exceeds it: material"));
    EXPECT_THAT(text, HasSubstr("margin 0, equivalent is only what is the same"));
    EXPECT_THAT(text, Not(HasSubstr("no margin for this metric")));
    for (const auto& row : to_comparison_rows(report.input, report.output, report.look)) EXPECT_EQ(row.margin, 0);
}

TEST(RelinkedReport, ShowsWhatPlacementDoesAndWarns) {
    const auto report = changed({}, [](ReportInput& rows) {
        for (auto& arm : rows.tree.arms)
            if (arm.name == "per-ns-work") arm.role = "relinked";
    });
    const auto text = flat(render_text(report));
    EXPECT_THAT(text, Not(HasSubstr("per-ns-work against inline-free: ")));
    EXPECT_THAT(text,
                HasSubstr("placement of code, per-ns-work (inline-free with its code moved), ipcns-exit/elapsed: "));
    // The primary of deferred-free moves by less than what placement does not rule out, or it is said to be more.
    const auto* primary = primary_of(report, 2);
    const auto* moved = primary_of(report, 1);
    ASSERT_TRUE(primary != nullptr && moved != nullptr && primary->estimate && moved->estimate);
    const auto size = [](double value) { return std::abs(std::log(value)); };
    const auto& e = *moved->estimate;
    const bool covered = std::max({size(e.value), size(e.low), size(e.high)}) >= size(primary->estimate->value);
    const auto caution = HasSubstr("Caution: per-ns-work, which is inline-free with its code moved, came out at ");
    if (covered)
        EXPECT_THAT(text, caution);
    else
        EXPECT_THAT(text, Not(caution));
}

TEST(RelinkedReport, AnEffectWithinThatOfPlacementIsWarnedOf) {
    const auto report = changed({}, [](ReportInput& rows) {
        for (auto& arm : rows.tree.arms)
            if (arm.name == "per-ns-work") arm.role = "relinked";
        std::map<std::pair<std::int64_t, std::int64_t>, double> values;
        for (const auto& sample : rows.samples)
            if (sample.arm == "deferred-free" && sample.metric == "elapsed")
                values[{sample.block, sample.seq}] = *sample.value;
        for (auto& sample : rows.samples)
            if (sample.arm == "per-ns-work" && sample.metric == "elapsed")
                sample.value = values.at({sample.block, sample.seq}) * .9;
    });
    const auto text = flat(render_text(report));
    EXPECT_THAT(text, HasSubstr("Caution: per-ns-work, which is inline-free with its code moved, came out at "));
    EXPECT_THAT(text, HasSubstr("placement of code alone may do as much."));
}

}  // namespace
}  // namespace kab::report
