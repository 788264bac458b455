#include "daemon/coordinator/sealed_plan.h"

#include <gmock/gmock.h>

namespace kab {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

msg::BootHello hello(const std::string& agent, const std::string& shell = {}) {
    msg::BootHello said;
    said.agent_sha256 = agent;
    said.shell_sha256 = shell;
    return said;
}

TEST(SealedPlan, TheFirstBootDecides) {
    SealedPlan sealed{"hash with old", "old", "old shell", false};
    EXPECT_THAT(hold_to(sealed, "hash with new", hello("new", "new shell")), IsEmpty());
    EXPECT_EQ(sealed.hash, "hash with new");
    EXPECT_EQ(sealed.agent, "new");
    EXPECT_EQ(sealed.shell, "new shell");
    EXPECT_TRUE(sealed.booted);
}

TEST(SealedPlan, ALaterBootOfOtherProgramsIsNoneOfIt) {
    SealedPlan sealed{"hash", "0123456789abcdef", "fedcba9876543210", true};
    const auto before = sealed;
    EXPECT_THAT(hold_to(sealed, "hash", hello("0123456789abcdef", "fedcba9876543210")), IsEmpty());
    EXPECT_EQ(hold_to(sealed, "other", hello("aaaaaaaaaaaaaaaa", "fedcba9876543210")),
              "kab-agent was replaced after the evaluation began (its SHA-256 was 0123456789ab... then and is "
              "aaaaaaaaaaaa... now); run the evaluation anew");
    EXPECT_EQ(hold_to(sealed, "other", hello("0123456789abcdef", "bbbbbbbbbbbbbbbb")),
              "the guests' shell (busybox) was replaced after the evaluation began (its SHA-256 was fedcba987654... "
              "then and is bbbbbbbbbbbb... now); run the evaluation anew");
    EXPECT_EQ(sealed.hash, before.hash);
    EXPECT_EQ(sealed.agent, before.agent);
    EXPECT_EQ(sealed.shell, before.shell);
}

TEST(SealedPlan, OfOneSealedByAnEarlierKabdOnlyTheHashIsKnown) {
    SealedPlan sealed{"0123456789abcdef", {}, {}, true};
    EXPECT_THAT(hold_to(sealed, "0123456789abcdef", hello("agent")), IsEmpty());
    EXPECT_THAT(hold_to(sealed, "other", hello("agent")), HasSubstr("its plan hash was 0123456789ab... then"));
}

TEST(SealedPlan, AHostThatDoesNotTellIsRefused) {
    for (const bool booted : {false, true}) {
        SealedPlan sealed{"hash", "agent", {}, booted};
        EXPECT_THAT(hold_to(sealed, "hash", hello("")), HasSubstr("does not tell which kab-agent it booted"));
        EXPECT_EQ(sealed.booted, booted);
    }
}

}  // namespace
}  // namespace kab
