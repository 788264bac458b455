#include "tests/simulation/disk_faults.h"

namespace kab::sim {
namespace {

TEST(DiskSimSlow, every_call_may_fail_and_nothing_is_lost) {
    fail_calls(1);
}

}  // namespace
}  // namespace kab::sim
