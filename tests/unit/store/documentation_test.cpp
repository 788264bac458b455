// docs/database.md, held to what the database is.
#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "daemon/store/store.h"
#include "tests/support/database/sample_database.h"

namespace kab::store {
namespace {

std::string text_of(const char* file) {
    return read_file(fs::path(KAB_SOURCE_DIR) / file).value_or("");
}

std::string document() {
    return text_of("docs/database.md");
}

/// The fenced blocks of language sql.
std::vector<std::string> queries() {
    std::vector<std::string> found;
    std::istringstream lines(document());
    std::string sql;
    bool inside = false;
    for (std::string line; std::getline(lines, line);) {
        const auto text = line.substr(std::min(line.find_first_not_of(' '), line.size()));
        if (!inside && text == "```sql") {
            inside = true;
            sql.clear();
        } else if (inside && text == "```") {
            inside = false;
            found.push_back(sql);
        } else if (inside) {
            sql += text + "\n";
        }
    }
    return found;
}

class Documentation : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        test::SampleOptions options;
        options.hardware_counters = true;
        options.crashing_arm = "per-ns-work";
        sample_ = std::make_unique<test::SampleDatabase>(options);
    }
    static void TearDownTestSuite() { sample_.reset(); }
    Store::Table ask(const std::string& sql) {
        auto reader = Store::open(sample_->file(), Store::Mode::read_only);
        EXPECT_TRUE(reader) << reader.error().text();
        auto table = (*reader)->query(sql);
        EXPECT_TRUE(table) << sql << "\n" << table.error().text();
        return table ? *table : Store::Table{};
    }
    static inline std::unique_ptr<test::SampleDatabase> sample_;
};

TEST_F(Documentation, HasElevenQueriesAndEachHasAnAnswer) {
    const auto all = queries();
    ASSERT_EQ(all.size(), 11U);
    for (const auto& sql : all) EXPECT_FALSE(ask(sql).rows.empty()) << sql;
}

TEST_F(Documentation, EveryQueryOnACommandLineHasAnAnswer) {
    for (const char* file : {"README.md", "docs/man/kab.1", "docs/database.md"}) {
        const auto text = text_of(file);
        const std::regex command(R"re(kab query "([^"]+)")re");
        const std::sregex_iterator begin(text.begin(), text.end(), command), end;
        EXPECT_NE(begin, end) << file;
        for (auto found = begin; found != end; ++found) {
            const std::string sql = (*found)[1];
            EXPECT_FALSE(ask(sql).rows.empty()) << file << ": " << sql;
            const bool samples = sql.find("v_sample") != std::string::npos;
            EXPECT_EQ(samples, sql.find("evaluation = ") != std::string::npos)
                << file << ": mixes the evaluations: " << sql;
        }
    }
}

TEST_F(Documentation, ItsQueriesAnswerWhatTheySay) {
    const auto all = queries();
    ASSERT_EQ(all.size(), 11U);
    const auto counts = ask(all[1]);
    ASSERT_EQ(counts.rows.size(), 4U);
    for (const auto& row : counts.rows) EXPECT_EQ(row[1], row[0] == "per-ns-work" ? "20" : "30") << *row[0];
    EXPECT_EQ(ask(all[3]).rows.size(), 6U);
    const auto ratios = ask(all[4]);
    ASSERT_EQ(ratios.rows.size(), 6U);
    for (const auto& row : ratios.rows) EXPECT_NEAR(std::stod(*row[1]), 0.8, 0.1);
    const auto failures = ask(all[6]);
    ASSERT_EQ(failures.rows.size(), 4U);  // two crashes, two cancelled with their block
    EXPECT_EQ(ask(all[8]).rows.size(), 6U);
    EXPECT_EQ(*ask(all[8]).rows[0][1], "84.0");
    EXPECT_EQ(ask(all[9]).rows.size(), 1U);
    const auto builds = ask(all[10]);
    ASSERT_EQ(builds.rows.size(), 3U);
    EXPECT_EQ(builds.rows[0][1], "763");
    EXPECT_EQ(builds.rows[0][2], "340.0");
}

TEST_F(Documentation, NamesEveryColumnOfTheViews) {
    const auto text = document();
    for (const char* view : {"v_sample", "v_comparison", "v_boot", "v_condition", "v_profile"}) {
        const auto begin = text.find(fmt::format("### {}\n", view));
        ASSERT_NE(begin, std::string::npos) << view;
        const auto section = text.substr(begin, text.find("\n## ", begin) - begin);
        for (const auto& row : ask(fmt::format("SELECT name FROM pragma_table_info('{}')", view)).rows)
            EXPECT_TRUE(std::regex_search(section, std::regex("(\\| |, )" + *row[0] + "(,| \\|)")))
                << view << "." << *row[0];
    }
}

TEST_F(Documentation, NamesEveryTable) {
    const auto text = document();
    const auto tables = ask("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
    EXPECT_EQ(tables.rows.size(), 19U);
    for (const auto& row : tables.rows) EXPECT_NE(text.find("\n| " + *row[0] + " |"), std::string::npos) << *row[0];
}

TEST_F(Documentation, NamesEveryColumnOfTheTables) {
    const auto text = document();
    const auto begin = text.find("\n## Tables");
    const auto section = text.substr(begin, text.find("\n## ", begin + 5) - begin);
    const auto columns =
        ask("SELECT t.name, c.name FROM sqlite_schema AS t JOIN pragma_table_info(t.name) AS c "
            "WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND t.name <> 'comparison' AND c.name <> 'id'");
    for (const auto& row : columns.rows) {
        const bool explained = section.find("`" + *row[1] + "`") != std::string::npos || row[0] == "attempt";
        EXPECT_TRUE(explained) << *row[0] << "." << *row[1];
    }
}

}  // namespace
}  // namespace kab::store
