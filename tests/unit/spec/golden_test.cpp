// Every file of tests/golden/spec: good ones parse, bad ones give exactly the errors in the .txt beside them.
#include <gmock/gmock.h>

#include "common/files.h"
#include "daemon/spec/parse.h"

namespace kab {
namespace {

std::vector<fs::path> yaml_files(const fs::path& directory) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(directory)) {
        if (entry.path().extension() == ".yaml") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

const fs::path golden = fs::path(KAB_SOURCE_DIR) / "tests/golden/spec";

class File : public testing::TestWithParam<fs::path> {};
class GoodFile : public File {};
class BadFile : public File {};

std::string name_of(const testing::TestParamInfo<fs::path>& info) {
    std::string name = info.param.stem().string();
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    return name;
}

TEST_P(GoodFile, IsAccepted) {
    const auto text = read_file(GetParam());
    ASSERT_TRUE(text);
    const auto parsed = parse_experiment(*text, "f");
    ASSERT_TRUE(parsed) << parsed.error().front().text();
    EXPECT_GE(parsed->experiment.arms.size(), 2U);
    EXPECT_FALSE(parsed->experiment.workloads.empty());
    EXPECT_FALSE(parsed->experiment.decide.looks.empty());
    EXPECT_TRUE(parsed->exported.is_object());
}

TEST_P(BadFile, GivesTheErrorsBesideIt) {
    const auto text = read_file(GetParam());
    fs::path expected_file = GetParam();
    expected_file.replace_extension(".txt");
    const auto expected = read_file(expected_file);
    ASSERT_TRUE(text);
    ASSERT_TRUE(expected) << expected.error().text();
    const auto parsed = parse_experiment(*text, "f");
    ASSERT_FALSE(parsed);
    std::string errors;
    for (const Error& error : parsed.error()) {
        EXPECT_EQ(error.fault, Fault::spec);
        EXPECT_EQ(error.message.find('\n'), std::string::npos);
        errors += error.text() + "\n";
    }
    EXPECT_EQ(errors, *expected);
}

INSTANTIATE_TEST_SUITE_P(Golden, GoodFile, testing::ValuesIn(yaml_files(golden / "good")), name_of);
INSTANTIATE_TEST_SUITE_P(Shipped, GoodFile,
                         testing::ValuesIn(yaml_files(fs::path(KAB_SOURCE_DIR) / "configs/experiments")), name_of);
INSTANTIATE_TEST_SUITE_P(Golden, BadFile, testing::ValuesIn(yaml_files(golden / "bad")), name_of);

}  // namespace
}  // namespace kab
