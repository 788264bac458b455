#include "agent/guest/perf/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kab::guest {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t lock = 0x1000, slow = 0x1100, ipc = 0x1200, other = 0x1300, entry = 0x1400;

KernelSymbols symbols(const char* unwinder = "update_stack_state") {
    return KernelSymbols::parse(
               "1000 T _raw_spin_lock\n1100 T queued_spin_lock_slowpath\n1200 T ipc_lock\n"
               "1300 T other\n1400 T entry\n1500 T " +
               std::string(unwinder) + "\n1600 T end\n")
        .value();
}

/// Names of what was sampled, with its caller.
std::string text(const msg::ProfileSymbol& symbol) {
    return fmt::format("{}<{} {}", symbol.symbol, symbol.caller, symbol.samples);
}
std::vector<std::string> texts(const Profile& profile) {
    std::vector<std::string> all;
    for (const auto& symbol : profile.by_symbol()) all.push_back(text(symbol));
    return all;
}

class ProfileTest : public testing::Test {
  protected:
    void add(Profile& profile, std::uint64_t address, std::vector<std::uint64_t> callers, int times = 1) {
        for (int i = 0; i < times; ++i) profile.add({false, address, callers});
    }
    void add_user(Profile& profile) { profile.add({true, 0x7fff0000, {}}); }

    const KernelSymbols known_ = symbols();
    const msg::ProfileGroup spinlock_{"spinlock", {"_raw_spin_lock", "*queued_spin_lock_slowpath"}, {}};
    const msg::ProfileGroup ipc_{"ipc", {"_raw_spin_lock", "*slowpath"}, {"ipc_*"}};
};

TEST_F(ProfileTest, CountsByFunction) {
    Profile profile(known_, {});
    add(profile, other + 5, {entry + 5}, 3);
    add(profile, ipc, {entry + 5});
    add(profile, 0x99, {});
    add_user(profile);
    EXPECT_EQ(profile.samples(), 6);
    EXPECT_THAT(texts(profile), ElementsAre("other< 3", "[unknown]< 1", "[user]< 1", "ipc_lock< 1"));
}

TEST_F(ProfileTest, AttributesAGroupToTheNearestCallerOutsideIt) {
    Profile profile(known_, {spinlock_});
    add(profile, slow + 8, {lock + 8, ipc + 8, entry + 8}, 2);
    add(profile, lock + 8, {other + 8, ipc + 8});
    add(profile, lock + 8, {});
    EXPECT_THAT(texts(profile), ElementsAre("queued_spin_lock_slowpath<ipc_lock 2", "_raw_spin_lock<[unknown] 1",
                                            "_raw_spin_lock<other 1"));
}

TEST_F(ProfileTest, ACallerInAnotherGroupIsTheCaller) {
    // The lock that a check takes itself is not the lock under which it is made.
    const msg::ProfileGroup checks{"checks", {"other"}, {}};
    const auto known = KernelSymbols::parse(
                           "1000 T _raw_spin_lock\n1100 T queued_spin_lock_slowpath\n1200 T ipc_enter\n"
                           "1300 T other\n1400 T entry\n1500 T update_stack_state\n1600 T end\n")
                           .value();
    const msg::ProfileGroup locks{"locks", {"_raw_spin_lock", "*slowpath"}, {"ipc_enter"}};
    Profile profile(known, {locks, checks});
    add(profile, slow + 8, {lock + 8, other + 8, ipc + 8}, 3);  // within a check
    add(profile, slow + 8, {lock + 8, ipc + 8});
    add(profile, other + 8, {ipc + 8});
    EXPECT_THAT(texts(profile), ElementsAre("queued_spin_lock_slowpath<other 3", "other<ipc_enter 1",
                                            "queued_spin_lock_slowpath<ipc_enter 1"));
    EXPECT_DOUBLE_EQ(profile.metrics()[0].value.value(), 0.2);
    EXPECT_DOUBLE_EQ(profile.metrics()[1].value.value(), 0.2);
}

TEST_F(ProfileTest, ACallThatIsTheLastInstructionIsOfItsFunction) {
    Profile profile(known_, {spinlock_});
    add(profile, lock + 8, {other});  // returns to the first byte after ipc_lock
    EXPECT_THAT(texts(profile), ElementsAre("_raw_spin_lock<ipc_lock 1"));
}

TEST_F(ProfileTest, SharesAreOfAllSamples) {
    Profile profile(known_, {spinlock_, ipc_});
    add(profile, slow + 8, {lock + 8, ipc + 8}, 2);
    add(profile, lock + 8, {other + 8}, 3);
    add(profile, other, {entry + 8}, 4);
    add_user(profile);
    const auto metrics = profile.metrics();
    ASSERT_EQ(metrics.size(), 3U);
    EXPECT_EQ(metrics[0].metric, "share:spinlock");
    EXPECT_DOUBLE_EQ(metrics[0].value.value(), 0.5);
    EXPECT_EQ(metrics[1].metric, "share:ipc");
    EXPECT_DOUBLE_EQ(metrics[1].value.value(), 0.2);
    EXPECT_EQ(metrics[2].metric, "profile-samples");
    EXPECT_DOUBLE_EQ(metrics[2].value.value(), 10);
}

TEST_F(ProfileTest, AShareOfTheKernelLeavesUserSpaceOut) {
    auto of_kernel = spinlock_;
    of_kernel.name = "of-kernel";
    of_kernel.of_kernel = true;
    Profile profile(known_, {spinlock_, of_kernel});
    add_user(profile);
    EXPECT_DOUBLE_EQ(profile.metrics()[0].value.value(), 0);
    EXPECT_FALSE(profile.metrics()[1].value);
    EXPECT_THAT(profile.metrics()[1].reason, HasSubstr("not one of the samples was in the kernel"));
    add(profile, lock + 8, {ipc + 8}, 3);
    add(profile, 0x99, {});
    for (int i = 0; i < 5; ++i) add_user(profile);
    EXPECT_DOUBLE_EQ(profile.metrics()[0].value.value(), 0.3);
    EXPECT_DOUBLE_EQ(profile.metrics()[1].value.value(), 0.75) << "what is unknown of the kernel is part of it";
}

TEST_F(ProfileTest, AFunctionThatWasNeverHitHasAShareOfNothing) {
    Profile profile(known_, {spinlock_});
    add(profile, other, {});
    EXPECT_DOUBLE_EQ(profile.metrics()[0].value.value(), 0);
}

TEST_F(ProfileTest, AFunctionThatTheKernelDoesNotHaveHasNoShare) {
    Profile profile(known_,
                    {{"typo", {"_raw_spin_lok", "nothing*"}, {}}, {"from-typo", {"_raw_spin_lock"}, {"ipc_lok"}}});
    add(profile, other, {});
    EXPECT_FALSE(profile.metrics()[0].value);
    EXPECT_THAT(profile.metrics()[0].reason, HasSubstr("is called _raw_spin_lok or nothing*"));
    EXPECT_THAT(profile.metrics()[1].reason, HasSubstr("is called ipc_lok"));
}

TEST_F(ProfileTest, WithoutAnySampleThereIsNoShare) {
    const auto metrics = Profile(known_, {spinlock_}).metrics();
    EXPECT_THAT(metrics[0].reason, HasSubstr("not one sample"));
    EXPECT_THAT(metrics[1].reason, HasSubstr("not one sample"));
    EXPECT_FALSE(metrics[1].value);
}

TEST_F(ProfileTest, AKernelThatGuessesItsCallersIsNotBelieved) {
    const auto guessing = symbols("unwind_next_frame");
    Profile profile(guessing, {spinlock_, ipc_});
    add(profile, lock + 8, {ipc + 8});
    EXPECT_THAT(texts(profile), ElementsAre("_raw_spin_lock< 1"));
    EXPECT_DOUBLE_EQ(profile.metrics()[0].value.value(), 1) << "needs no callers";
    EXPECT_THAT(profile.metrics()[1].reason, HasSubstr("CONFIG_UNWINDER_FRAME_POINTER"));
}

TEST_F(ProfileTest, VeryManySymbolsAreBounded) {
    std::string kallsyms;
    for (int i = 0; i < 6000; ++i) kallsyms += fmt::format("{:x} T f{}\n", 0x10000 + 16 * i, i);
    const auto many = KernelSymbols::parse(kallsyms).value();
    Profile profile(many, {});
    for (int i = 0; i < 5999; ++i) add(profile, 0x10000 + 16 * static_cast<std::uint64_t>(i), {}, i == 7 ? 2 : 1);
    const auto found = profile.by_symbol();
    ASSERT_EQ(found.size(), 4000U);
    EXPECT_EQ(found.front().symbol, "f7");
    EXPECT_EQ(text(found.back()), "[rest]< 2000");
    std::int64_t sum = 0;
    for (const auto& symbol : found) sum += symbol.samples;
    EXPECT_EQ(sum, profile.samples());
}

}  // namespace
}  // namespace kab::guest
