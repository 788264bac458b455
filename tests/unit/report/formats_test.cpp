// JSON and CSV name things as the stable views do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "daemon/report/document.h"
#include "daemon/report/report.h"
#include "tests/support/database/sample_database.h"

namespace kab::report {
namespace {

using Rows = std::vector<std::vector<std::string>>;

/// RFC 4180, with LF.
Rows parse_csv(const std::string& text) {
    Rows rows(1, {""});
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
            rows.back().back() += text[++i];
        } else if (c == '"') {
            quoted = !quoted;
        } else if (!quoted && c == ',') {
            rows.back().emplace_back();
        } else if (!quoted && c == '\n') {
            rows.push_back({""});
        } else {
            rows.back().back() += c;
        }
    }
    rows.pop_back();
    return rows;
}

struct Opened {
    explicit Opened(const test::SampleOptions& options = {}) : sample(options) {
        auto opened = store::Store::open(sample.file(), store::Store::Mode::read_only);
        EXPECT_TRUE(opened) << opened.error().text();
        reader = std::move(*opened);
    }
    store::Store::Table query(const std::string& sql) const {
        auto table = reader->query(sql);
        EXPECT_TRUE(table) << table.error().text();
        return table ? *table : store::Store::Table{};
    }
    ReportInput report() const {
        auto gathered = gather(*reader, test::sample_evaluation());
        EXPECT_TRUE(gathered) << gathered.error().text();
        return gathered ? std::move(*gathered) : ReportInput{};
    }
    test::SampleDatabase sample;
    std::unique_ptr<store::Store> reader;
};

TEST(Csv, IsTheViewOfTheSamples) {
    test::SampleOptions options;
    options.swept = true;
    options.blocks = 2;
    const Opened database(options);
    const auto csv = parse_csv(render_csv(database.report()));
    const auto view = database.query(
        fmt::format("SELECT * FROM v_sample WHERE evaluation = '{}' ORDER BY block, position, seq, metric",
                    test::sample_evaluation()));
    ASSERT_FALSE(csv.empty());
    EXPECT_EQ(csv[0], view.columns);
    ASSERT_EQ(csv.size(), view.rows.size() + 1);
    for (std::size_t row = 0; row < view.rows.size(); ++row) {
        ASSERT_EQ(csv[row + 1].size(), view.columns.size()) << row;
        for (std::size_t column = 0; column < view.columns.size(); ++column) {
            const auto expected = view.rows[row][column].value_or("");
            const auto& got = csv[row + 1][column];
            if (view.columns[column] == "value" && !expected.empty())
                EXPECT_DOUBLE_EQ(std::stod(got), std::stod(expected)) << row;
            else
                EXPECT_EQ(got, expected) << row << " " << view.columns[column];
        }
    }
}

void expect_columns(const Json& object, const std::vector<std::string>& columns) {
    for (const auto& [key, value] : object.items()) EXPECT_THAT(columns, testing::Contains(key));
}

TEST(JsonReport, NamesWhatTheViewsName) {
    const Opened database;
    const auto json = parse_json(render_json(database.report()));
    ASSERT_TRUE(json) << json.error().text();
    ASSERT_FALSE(json->at("comparisons").empty());
    ASSERT_FALSE(json->at("boots").empty());
    expect_columns(json->at("comparisons")[0], database.query("SELECT * FROM v_comparison LIMIT 1").columns);
    expect_columns(json->at("boots")[0], database.query("SELECT * FROM v_boot LIMIT 1").columns);
    for (const char* key : {"is_primary", "control", "unit", "better", "scale", "look"})
        EXPECT_TRUE(json->at("comparisons")[0].contains(key)) << key;
    EXPECT_EQ(json->at("design").at("primary"), "ipcns-exit/elapsed");
}

TEST(MarkdownReport, NoLineOfAConsoleEndsItsFence) {
    const auto shown = [](const std::vector<std::string>& lines) {
        return to_markdown(Document{"A report", {{"Failed boots", {Verbatim{lines}}}}});
    };
    EXPECT_THAT(shown({"BUG: thing", "`````", "# `` ```"}),
                testing::EndsWith("\n``````\nBUG: thing\n`````\n# `` ```\n``````\n"));
    EXPECT_THAT(shown({"BUG: ``thing"}), testing::EndsWith("\n```\nBUG: ``thing\n```\n"));
}

}  // namespace
}  // namespace kab::report
