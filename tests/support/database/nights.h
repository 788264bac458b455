#pragma once
// Evaluations of one experiment night by night, in a real database written through store::Writer: as little of each as
// a history reads.
#include <string>

#include "tests/support/database/sample_database.h"

namespace kab::test {

/// One evaluation: arm "patched" against "main" on ipcns-exit/elapsed, one block, one look.
struct Night {
    int day = 1;  ///< after 2026-01-01: when it was submitted, and its uid
    std::string experiment = "nightly";
    std::string base = "main-1", arm = "patch-1";  ///< kernels; the same name is the same kernel
    std::string base_name = "main", arm_name = "patched";
    double ratio = 1, half_width = 0.01;  ///< of the interval, as a share
    std::string verdict = "improved", status = "done", detail, command_line;
    std::string accel = "kvm", emulator = "QEMU 7.2.22";
    bool linear = false, look = true;  ///< linear: `ratio` is a difference in ns
    int children = 1000;
    std::string score;  ///< of the workload; "": it has none
    bool exact = false, vary_layout = false;
    std::string group, group_of;  ///< of a profile, and what its share is of; "": it has none, it does not say
};

std::string night_uid(int day);
/// Throws std::runtime_error with the store's message when something is refused.
void add_night(store::Store& store, const Night& night);

/// An empty database of its own in a temporary directory.
struct EmptyDatabase {
    EmptyDatabase();
    TempDir directory;
    std::unique_ptr<store::Store> store;
};

}  // namespace kab::test
