#pragma once
// A report of the sample database with rows changed before the analysis.
#include <gtest/gtest.h>

#include "daemon/report/report.h"
#include "tests/support/database/sample_database.h"

namespace kab::report::test {

using kab::test::SampleOptions;

template <class Change>
ReportInput changed(const SampleOptions& options, const Change& change) {
    const kab::test::SampleDatabase sample(options);
    auto rows = gather(*sample.store, kab::test::sample_evaluation());
    EXPECT_TRUE(rows) << rows.error().text();
    if (!rows) return {};
    change(*rows);
    auto report = assemble(std::move(*rows));
    EXPECT_TRUE(report) << report.error().text();
    return report ? std::move(*report) : ReportInput{};
}

}  // namespace kab::report::test
