// The error rates that the method promises, on 500 simulated evaluations each.
#include "tests/simulation/stats/simulated.h"

namespace kab::stats {
namespace {

TEST(StatsSimulation, ErrorRatesAndPowerWith500Seeds) {
    check_promises(500, 3);
}

}  // namespace
}  // namespace kab::stats
