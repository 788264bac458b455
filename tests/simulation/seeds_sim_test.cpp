// A few seeds of what tests/simulation/slow tries thousands of.
#include "tests/simulation/seeds.h"

namespace kab::sim {
namespace {

TEST(SeedsSim, whatever_goes_wrong_the_result_is_that_of_an_undisturbed_run) {
    try_seeds(30);
}

}  // namespace
}  // namespace kab::sim
