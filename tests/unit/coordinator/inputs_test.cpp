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
    Experiment experiment;
    experiment.arms.resize(1);
    experiment.arms[0].kernel.patches = {"/home/u/a.patch"};
    const auto request = inputs_.request("E", experiment, {"mainline", "", Role::measured, 0});
    EXPECT_EQ(request.root, state_.path() / "inputs/E");
    ASSERT_EQ(request.patches.size(), 1U);
    EXPECT_EQ(request.patches[0], request.root + "/home/u/a.patch");
    EXPECT_EQ(read_file(request.patches[0]).value_or(""), "text");
}

TEST_F(InputsTest, ARelinkedOrDebugArmIsAKernelOfItsOwn) {
    Experiment experiment;
    experiment.arms.resize(1);
    experiment.debug.config = {"/home/u/debug.config"};
    experiment.debug.patches = {"/home/u/removable.patch"};
    const auto as = [&](Role role) { return inputs_.request("E", experiment, {"x", "", role, 0}); };
    for (const auto role : {Role::measured, Role::control}) {
        EXPECT_EQ(as(role).pad_bytes, 0);
        EXPECT_TRUE(as(role).extra_config.empty());
    }
    EXPECT_GT(as(Role::relinked).pad_bytes, 0);
    EXPECT_TRUE(as(Role::relinked).extra_config.empty());
    EXPECT_EQ(as(Role::debug).pad_bytes, 0);
    EXPECT_EQ(as(Role::debug).extra_config, std::vector<std::string>{as(Role::debug).root + "/home/u/debug.config"});
    EXPECT_EQ(as(Role::debug).patches, std::vector<std::string>{as(Role::debug).root + "/home/u/removable.patch"});
    EXPECT_TRUE(as(Role::measured).patches.empty());
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
