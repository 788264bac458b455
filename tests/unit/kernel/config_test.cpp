#include "daemon/kernel/text/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/kernel/kconfig.h"

namespace kab::kernel {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<Setting> parsed(const std::string& text) {
    auto settings = parse_fragments(text);
    EXPECT_TRUE(settings) << settings.error().text();
    return settings.value_or(std::vector<Setting>{});
}

TEST(ConfigTest, ReadsEveryKindOfValueWithItsPlace) {
    const auto settings = parsed(fragment_header("/a/vm.config") +
                                 "# a comment\n\nCONFIG_SMP=y\n  CONFIG_NR_CPUS=64 \r\nCONFIG_BASE=0x1f\n"
                                 "CONFIG_CMDLINE=\"a b\"\n# CONFIG_PCI is not set\n# CONFIG_ nothing is not set\n" +
                                 fragment_header("b.config") + "CONFIG_ACPI=n\n");
    ASSERT_EQ(settings.size(), 6U);
    EXPECT_EQ(settings[0].symbol, "SMP");
    EXPECT_EQ(settings[0].where, "/a/vm.config:3");
    EXPECT_EQ(settings[1].value, "64");
    EXPECT_EQ(settings[2].value, "0x1f");
    EXPECT_EQ(settings[3].value, "\"a b\"");
    EXPECT_EQ(settings[4].symbol, "PCI");
    EXPECT_EQ(settings[4].value, "n");
    EXPECT_EQ(settings[5].where, "b.config:1");
}

TEST(ConfigTest, NamesFileAndLineOfWhatIsNoSetting) {
    for (const char* line :
         {"SMP=y", "CONFIG_SMP", "CONFIG_SMP=yes", "CONFIG_S MP=y", "CONFIG_X=\"open", "CONFIG_X=0x"}) {
        const auto settings = parse_fragments(fragment_header("vm.config") + "CONFIG_A=y\n" + line + "\n");
        ASSERT_FALSE(settings) << line;
        EXPECT_EQ(settings.error().where, "vm.config:2");
        EXPECT_EQ(settings.error().fault, Fault::spec);
    }
}

TEST(ConfigTest, TheLastSettingCounts) {
    const auto settings = effective_settings(parsed("CONFIG_A=y\nCONFIG_B=m\nCONFIG_A=n\n"));
    EXPECT_EQ(to_config_text(settings), "CONFIG_B=m\n# CONFIG_A is not set\n");
}

TEST(ConfigTest, TellsWhatWasNotGranted) {
    const auto settings = parsed("CONFIG_A=y\nCONFIG_B=m\nCONFIG_C=n\nCONFIG_D=n\nCONFIG_E=5\nCONFIG_F=y\n");
    const auto refused =
        not_granted(settings, "CONFIG_A=y\nCONFIG_B=y\n# CONFIG_C is not set\nCONFIG_D=y\nCONFIG_E=6\n");
    ASSERT_EQ(refused.size(), 4U);
    EXPECT_EQ(refused[0].asked.symbol + refused[0].got, "By");
    EXPECT_EQ(refused[1].asked.symbol + refused[1].got, "Dy");
    EXPECT_EQ(refused[2].asked.symbol + refused[2].got, "E6");
    EXPECT_EQ(refused[3].asked.symbol + refused[3].got, "Fn");
}

TEST(ConfigTest, TellsWhatChanged) {
    EXPECT_THAT(changed_symbols("CONFIG_A=y\nCONFIG_B=y\nCONFIG_C=1\n",
                                "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=2\nCONFIG_D=y\n"),
                ElementsAre("B", "C", "D"));
}

class KconfigTest : public ::testing::Test {
  protected:
    KconfigTest() {
        kconfig_.add(
            "config IPC_NS\n\tbool \"IPC namespaces\"\n\tdepends on (SYSVIPC || POSIX_MQUEUE)\n\tdepends on "
            "NAMESPACES\n"
            "menu \"other\"\n\tdepends on NOT_OF_IPC_NS\nmenuconfig HIDDEN # why\n\tbool\n\tdef_bool y\n");
    }
    std::string explain(const std::string& symbol) const {
        return kconfig_.explain({{symbol, "y", "vm.config:7"}, "n"});
    }
    Kconfig kconfig_;
};

TEST_F(KconfigTest, SuggestsForASymbolThatDoesNotExist) {
    EXPECT_EQ(explain("IPC_NSS"), "CONFIG_IPC_NSS=y does not exist in this kernel; did you mean CONFIG_IPC_NS?");
    EXPECT_THAT(explain("SOMETHING_ELSE"), ::testing::EndsWith("does not exist in this kernel"));
}

TEST_F(KconfigTest, NamesWhatASymbolDependsOn) {
    EXPECT_EQ(explain("IPC_NS"),
              "CONFIG_IPC_NS=y was not granted: Kconfig made it n; it depends on (SYSVIPC || POSIX_MQUEUE) "
              "and NAMESPACES");
}

TEST_F(KconfigTest, SaysThatASymbolCannotBeSet) {
    EXPECT_THAT(explain("HIDDEN"), HasSubstr("it cannot be set"));
}

TEST_F(KconfigTest, ListsManyInOneLine) {
    std::vector<NotGranted> many;
    for (const char* name : {"A1", "A2", "A3", "A4", "A5", "A6"}) many.push_back({{name, "y", "x:1"}, "n"});
    const Error error = explain_not_granted(many, kconfig_);
    EXPECT_EQ(error.fault, Fault::spec);
    EXPECT_EQ(error.where, "x:1");
    EXPECT_THAT(error.message, ::testing::EndsWith("; and 2 more: CONFIG_A5 CONFIG_A6"));
    EXPECT_EQ(error.message.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace kab::kernel
