#pragma once
// Histories made by hand for the tests of this folder.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "daemon/history/gather.h"
#include "daemon/history/history.h"
#include "tests/support/database/nights.h"

namespace kab::history {

using test::add_night;
using test::Night;

/// Nights `first` to `last` around a ratio, with a spread of half a percent, on this kernel.
inline void nights(store::Store& store, int first, int last, double ratio, const std::string& kernel,
                   const Night& like = {}) {
    static constexpr double spread[] = {0, .004, -.003, .005, -.004, .001, -.001, .003, -.005, .002};
    for (int day = first; day <= last; ++day) {
        Night night = like;
        night.day = day;
        night.ratio = like.linear ? ratio * (1 + spread[day % 10]) : ratio * std::exp(spread[day % 10]);
        night.arm = kernel;
        add_night(store, night);
    }
}

inline std::vector<Record> gathered(const store::Store& store, const std::string& experiment = "nightly") {
    auto records = gather(store, experiment);
    EXPECT_TRUE(records) << records.error().text();
    return *records;
}

}  // namespace kab::history
