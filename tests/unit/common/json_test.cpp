#include "common/json.h"

#include <gtest/gtest.h>

namespace kab {
namespace {

std::string error_of(const std::string& text, int max_depth = 4) {
    const auto json = parse_json(text, max_depth);
    if (json) return "no error";
    EXPECT_EQ(json.error().fault, Fault::protocol);
    return json.error().message;
}

TEST(Json, OwnErrorsHaveLineAndColumn) {
    EXPECT_EQ(error_of("{\"a\": 1,\n  \"b\": 2, \"a\": 3}"), "JSON: line 2, column 11: duplicate key 'a'");
    EXPECT_EQ(error_of("{\"a\": 1, \"\\u0061\": 3}"), "JSON: line 1, column 10: duplicate key 'a'");
    EXPECT_EQ(error_of("{\"x\\\"\": 1,\n\n\"x\\\"\" : 3}"), "JSON: line 3, column 1: duplicate key 'x\"'");
    EXPECT_EQ(error_of("[{\"a\": {\"a\": 1}}, {\"a\": 1, \"a\": 2}]"), "JSON: line 1, column 28: duplicate key 'a'");
    EXPECT_EQ(error_of("[\n[[[\n [1]]]]]"), "JSON: line 3, column 2: more than 4 levels");
    EXPECT_EQ(error_of("[1,\n 1e999, 2]"), "JSON: line 2, column 2: number out of range");
    EXPECT_EQ(error_of("-1e999"), "JSON: line 1, column 1: number out of range");
}

TEST(Json, SyntaxErrorsHaveLineAndColumn) {
    for (const auto* text : {"", "{", "[1,\n2", "{\"a\" 1}", "[1] x", "nul", "\"\x01\"", "[NaN]"})
        EXPECT_NE(error_of(text).find(" at line "), std::string::npos) << text << ": " << error_of(text);
}

TEST(Json, WhatIsRightIsRead) {
    EXPECT_EQ(parse_json("[[[[1]]]]", 4).value().dump(), "[[[[1]]]]");
    EXPECT_EQ(parse_json("{\"a\": {\"a\": [{\"a\": \"[[[[[\"}]}}", 4).value().at("a").at("a").size(), 1U);
    EXPECT_EQ(parse_json("\xef\xbb\xbf 1").value(), 1);
    EXPECT_EQ(parse_json("18446744073709551615").value().get<std::uint64_t>(), 18446744073709551615U);
    EXPECT_EQ(parse_json(std::string_view("12345", 2)).value(), 12);
}

}  // namespace
}  // namespace kab
