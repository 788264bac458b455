#include "daemon/coordinator/inputs.h"

#include <gtest/gtest.h>

#include "common/digest/sha256.h"
#include "common/files.h"

namespace kab {
namespace {

class InputsTest : public testing::Test {
  protected:
    InputsTest() : state_(*TempDir::make("kab-inputs-")), inputs_(state_.path()) {}

    TempDir state_;
    Inputs inputs_;
};

TEST_F(InputsTest, CopiesLieUnderTheirOwnPathsAndAreNamedByThem) {
    const std::string sha256 = sha256_hex("text");
    ASSERT_TRUE(inputs_.put(sha256, "text"));
    ASSERT_TRUE(inputs_.materialise("E", {{"/home/u/a.patch", sha256}}));
    KernelSpec spec;
    spec.patches = {"/home/u/a.patch"};
    const auto request = inputs_.request("E", spec);
    EXPECT_EQ(request.root, state_.path() / "inputs/E");
    ASSERT_EQ(request.patches.size(), 1U);
    EXPECT_EQ(request.patches[0], request.root + "/home/u/a.patch");
    EXPECT_EQ(read_file(request.patches[0]).value_or(""), "text");
}

TEST_F(InputsTest, APathIsTakenAsItStandsOrNotAtAll) {
    const std::string sha256 = sha256_hex("text");
    ASSERT_TRUE(inputs_.put(sha256, "text"));
    for (const char* path : {"a.patch", "/home/u/../a.patch", "/home/./a.patch"}) {
        const auto done = inputs_.materialise("E", {{path, sha256}});
        ASSERT_FALSE(done) << path;
        EXPECT_EQ(done.error().fault, Fault::usage);
    }
}

TEST_F(InputsTest, NoPathLeadsOutOfTheEvaluationsFolder) {
    for (const char* path : {"/../../etc/passwd", "../../../etc/passwd", "/a/../../etc/passwd"})
        EXPECT_EQ(inputs_.place("E", path), state_.path() / "inputs/E/etc/passwd") << path;
}

}  // namespace
}  // namespace kab
