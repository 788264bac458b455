#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "daemon/results/prepare.h"

namespace kab::results {

inline std::string golden(const std::string& name) {
    std::ifstream file(std::string(KAB_SOURCE_DIR) + "/tests/golden/results/" + name);
    std::ostringstream text;
    text << file.rdbuf();
    EXPECT_FALSE(text.str().empty()) << name;
    return text.str();
}

/// The results of a text that is right.
inline Results good(const std::string& text, const std::string& name = "in",
                    std::optional<Format> forced = std::nullopt) {
    auto results = read_results(text, name, forced);
    EXPECT_TRUE(results) << (results ? "" : results.error().text());
    return results.value_or(Results{});
}

/// The message of a text that is wrong, with its place.
inline std::string complaint(const std::string& text, std::optional<Format> forced = std::nullopt) {
    const auto results = read_results(text, "in", forced);
    EXPECT_FALSE(results) << text;
    if (results) return "";
    EXPECT_EQ(results.error().fault, Fault::usage);
    return results.error().text();
}

inline std::vector<double> values_of(const Metric& metric, int arm = 0) {
    std::vector<double> values;
    for (const auto& value : metric.values)
        if (value.arm == arm) values.push_back(value.value);
    return values;
}

inline std::vector<std::string> names_of(const Results& results) {
    std::vector<std::string> names;
    for (const auto& metric : results.metrics) names.push_back(full_name(metric));
    return names;
}

}  // namespace kab::results
