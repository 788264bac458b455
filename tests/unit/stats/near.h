#pragma once
#include <gtest/gtest.h>

#include <cmath>

namespace kab::stats {

/// Equal to `digits` digits of the reference: by default 1e-9 relative.
inline void expect_relative(double value, double reference, double tolerance = 1e-9) {
    EXPECT_NEAR(value, reference, tolerance * std::abs(reference)) << "value " << value << ", reference " << reference;
}

}  // namespace kab::stats
