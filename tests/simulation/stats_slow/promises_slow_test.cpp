// The same promises on 10,000 evaluations each; no allowance for chance in the false differences.
#include "tests/simulation/stats/simulated.h"

namespace kab::stats {
namespace {

TEST(StatsSimulation, ErrorRatesAndPowerWith10000Seeds) {
    check_promises(10000, 0);
}

}  // namespace
}  // namespace kab::stats
