#include "agent/guest/canary.h"

#include <algorithm>

#include "agent/guest/perf/meter.h"

namespace kab::guest {

double canary_ns() {
    constexpr int rounds = 2'000'000;
    const auto started = raw_clock_ns();
    std::uint64_t x = 1;
    // Each round needs the one before: the CPU cannot run ahead, the compiler cannot shorten it.
    for (int i = 0; i < rounds; ++i) {
        x = x * 6364136223846793005U + 1442695040888963407U;
        asm volatile("" : "+r"(x));
    }
    return static_cast<double>(raw_clock_ns() - started);
}

Canary::Canary(bool exact) {
    if (!exact) before_ = canary_ns();
}

msg::Sample Canary::after_run() const {
    if (!before_) return {"canary", std::nullopt, "exact mode: a loop would cost instructions", {}, {}};
    return {"canary", std::max(*before_, canary_ns()), {}, {}, {}};
}

}  // namespace kab::guest
