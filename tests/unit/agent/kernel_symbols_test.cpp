#include "agent/guest/perf/kernel_symbols.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kab::guest {
namespace {

using testing::HasSubstr;

constexpr const char* text =
    "0000000000000000 A fixed_percpu_data\n"
    "ffffffff81000000 T _text\n"
    "ffffffff81000000 T startup_64\n"
    "ffffffff81000100 t __do_it\n"
    "ffffffff81000100 T do_it\n"
    "ffffffff81000100 t __se_do_it\n"
    "ffffffff81000200 t helper.constprop.0\n"
    "ffffffff81000280 t helper.isra.0.cold\n"
    "ffffffff81000300 t update_stack_state\n"
    "ffffffff81000400 T _etext\n"
    "ffffffff82000000 D data\n"
    "ffffffffc0000000 t probe\t[virtio_console]\n"
    "ffffffffc0000100 t last\t[virtio_console]\n";

KernelSymbols parsed(std::string kallsyms = text) {
    auto symbols = KernelSymbols::parse(std::move(kallsyms));
    EXPECT_TRUE(symbols) << symbols.error().text();
    return std::move(*symbols);
}

std::string name_at(const KernelSymbols& symbols, std::uint64_t address) {
    const auto function = symbols.find(address);
    return function ? std::string(symbols.name(*function)) : "none";
}

TEST(KernelSymbols, NameAllCodeOfAFunction) {
    const auto symbols = parsed();
    EXPECT_EQ(name_at(symbols, 0xffffffff81000100), "do_it");
    EXPECT_EQ(name_at(symbols, 0xffffffff810001ff), "do_it");
    EXPECT_EQ(name_at(symbols, 0xffffffff81000200), "helper");
    EXPECT_EQ(name_at(symbols, 0xffffffffc0000042), "probe");
}

TEST(KernelSymbols, SayNothingWhereThereIsNoFunction) {
    const auto symbols = parsed();
    EXPECT_EQ(name_at(symbols, 0), "none");
    EXPECT_EQ(name_at(symbols, 0xffffffff80ffffff), "none");
    EXPECT_EQ(name_at(symbols, 0xffffffff82000010), "none") << "data";
    EXPECT_EQ(name_at(symbols, 0xffffffffc0000100), "none") << "nobody knows where the last one ends";
    EXPECT_EQ(name_at(symbols, 0xffffffffffffffff), "none");
}

TEST(KernelSymbols, AreOneForTheCopiesAndPartsOfAFunction) {
    const auto symbols = parsed();
    EXPECT_EQ(symbols.find(0xffffffff81000200), symbols.find(0xffffffff81000280));
}

TEST(KernelSymbols, AreFoundByEveryNameOfAnAddress) {
    const auto symbols = parsed();
    const auto function = symbols.find(0xffffffff81000100).value();
    for (const char* pattern : {"do_it", "__do_it", "__se_*", "*o_i*"}) {
        const auto called = symbols.called({pattern});
        EXPECT_TRUE(called[function]) << pattern;
        EXPECT_EQ(std::count(called.begin(), called.end(), true), 1) << pattern;
    }
    EXPECT_TRUE(symbols.called({"helper"})[symbols.find(0xffffffff81000200).value()]);
    EXPECT_TRUE(symbols.called({"*.constprop.*"})[symbols.find(0xffffffff81000200).value()]);
    const auto none = symbols.called({"do", "data", "fixed_percpu_data"});
    EXPECT_EQ(std::count(none.begin(), none.end(), true), 0) << "data is no function";
}

TEST(KernelSymbols, KnowWhetherTheKernelCanTellCallers) {
    EXPECT_TRUE(parsed().has_callers());
    EXPECT_TRUE(parsed("ffffffff81000000 t orc_find.part.0\nffffffff81000010 T x\n").has_callers());
    EXPECT_FALSE(parsed("ffffffff81000000 T unwind_next_frame\nffffffff81000010 T x\n").has_callers());
}

TEST(KernelSymbols, AreNoneWhereAddressesAreHidden) {
    for (const char* hidden : {"", "0000000000000000 T _text\n0000000000000000 t x\n", "ffffffff82000000 D data\n"}) {
        const auto symbols = KernelSymbols::parse(hidden);
        ASSERT_FALSE(symbols) << hidden;
        EXPECT_THAT(symbols.error().text(), HasSubstr("kptr_restrict"));
    }
}

TEST(KernelSymbols, PassOverLinesThatAreNoSymbols) {
    const auto symbols =
        parsed("nonsense\nffffffff81000000\nffffffff81000000 T\nffffffff81000000 T a\nffffffff81000010 T b");
    EXPECT_EQ(symbols.count(), 2U);
}

TEST(Matches, TakesAStarForAnyText) {
    for (const char* pattern : {"_raw_spin_lock", "_raw_*", "*lock", "*spin*", "*", "**", "_*_*_*k", "_raw_spin_lock*"})
        EXPECT_TRUE(matches("_raw_spin_lock", pattern)) << pattern;
    for (const char* pattern :
         {"", "raw_spin_lock", "_raw_spin_loc", "*spin", "_raw_*x", "*lock_irq*", "_raw_spin_lock?"})
        EXPECT_FALSE(matches("_raw_spin_lock", pattern)) << pattern;
    EXPECT_TRUE(matches("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "*a*a*a*a*a*a*a*a*b"));
    EXPECT_FALSE(matches("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "*a*a*a*a*a*a*a*a*b"));
}

}  // namespace
}  // namespace kab::guest
