#include "agent/guest/text.h"

#include <gtest/gtest.h>

namespace kab::guest {
namespace {

TEST(CommandLineValue, GivesTheLastAndOnlyWholeWords) {
    const std::string_view line = "console=ttyS0 kab.channel=virtio xkab.channel=no kab.channel=ttyS1 kab.channels=2\n";
    EXPECT_EQ(command_line_value(line, "kab.channel"), "ttyS1");
    EXPECT_EQ(command_line_value(line, "kab.off"), "");
    EXPECT_EQ(command_line_value("kab.off=", "kab.off"), "");
}

TEST(ParseInteger, TakesAllOrNothing) {
    EXPECT_EQ(parse_integer("-17"), -17);
    EXPECT_FALSE(parse_integer(""));
    EXPECT_FALSE(parse_integer("17 "));
    EXPECT_FALSE(parse_integer("99999999999999999999"));
}

TEST(Field, IsTrimmedAndTheFirst) {
    const std::string_view cpuinfo = "processor\t: 0\nmodel name\t: A CPU: fast\nprocessor\t: 1\nmodel name\t: other\n";
    EXPECT_EQ(field(cpuinfo, "model name"), "A CPU: fast");
    EXPECT_EQ(field(cpuinfo, "model"), "");
}

}  // namespace
}  // namespace kab::guest
