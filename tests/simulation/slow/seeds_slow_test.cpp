#include "tests/simulation/seeds.h"

namespace kab::sim {
namespace {

TEST(SeedsSimSlow, whatever_goes_wrong_the_result_is_that_of_an_undisturbed_run) {
    try_seeds(3000);
}

}  // namespace
}  // namespace kab::sim
