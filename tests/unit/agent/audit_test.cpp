#include "agent/guest/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace kab::guest {
namespace {

TEST(Audit, IsWantedWhereTheCommandLineHasItOn) {
    EXPECT_TRUE(wants_audit("quiet audit=1 lsm=smack"));
    EXPECT_TRUE(wants_audit("audit=0 audit=on\n"));
    for (const char* no : {"", "audit=0", "audit", "audit_backlog_limit=1", "noaudit=1"}) EXPECT_FALSE(wants_audit(no));
}

TEST(Audit, TheRuleIsOfEverySystemCallAndOfAUserWhoIsNot) {
    const auto rule = rule_that_never_matches();
    EXPECT_EQ(rule.flags, static_cast<unsigned>(AUDIT_FILTER_EXIT));
    EXPECT_EQ(rule.action, static_cast<unsigned>(AUDIT_ALWAYS));
    ASSERT_EQ(rule.field_count, 1U);
    EXPECT_EQ(rule.fields[0], static_cast<unsigned>(AUDIT_UID));
    EXPECT_EQ(rule.fieldflags[0], static_cast<unsigned>(AUDIT_EQUAL));
    EXPECT_NE(rule.values[0], ~0U) << "no user id: the kernel refuses the rule";
    EXPECT_GT(rule.values[0], 0xffff0000U);
    EXPECT_EQ(rule.mask[0], ~0U);
    EXPECT_EQ(rule.buflen, 0U);
}

TEST(Audit, AKernelThatRefusesTheRuleIsTold) {
    if (::geteuid() == 0) GTEST_SKIP() << "would load the rule";
    const auto loaded = load_audit_rule();
    ASSERT_FALSE(loaded);
    EXPECT_THAT(loaded.error().text(), testing::HasSubstr("system calls are not audited"));
    EXPECT_THAT(loaded.error().text(), testing::HasSubstr("CONFIG_AUDITSYSCALL"));
}

}  // namespace
}  // namespace kab::guest
