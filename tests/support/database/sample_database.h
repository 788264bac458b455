#pragma once
// A finished evaluation of reference experiment 1 in a real database, written through store::Writer: three arms and A',
// six blocks, timed and counted runs, counters that the machine does not have, an interrupted block, a retried boot.
// All figures derive from a fixed seed.
#include <memory>
#include <string>

#include "common/files.h"
#include "daemon/store/store.h"

namespace kab::test {

struct SampleOptions {
    int number = 1;  ///< of the evaluation: several fit into one database
    int blocks = 6;  ///< complete ones; 0: none was finished
    int iterations = 5;
    int warmup = 1;
    int counter_iterations = 2;
    bool emulated = true;
    bool hardware_counters = false;  ///< else absent with a reason
    bool interrupted_block = true;   ///< block 3 is excluded once and booted again
    bool noisy = false;              ///< conditions of every run; blocks 2 and 4 were excluded for steal, 4 twice
    bool swept = false;              ///< two points, concurrency=0 and concurrency=1
    bool at_one = false;             ///< swept, and concurrency=1 decides
    int profile_iterations = 0;      ///< with the groups spinlock and spin-in-free
    bool of_kernel = false;          ///< the group spinlock is declared a share of the samples in the kernel
    std::string score;               ///< of the workload; "": it has none
    bool exact = false;              ///< declared; the figures are the same
    std::string crashing_arm;        ///< its boots of blocks 2 and 4 crash
    bool stopped = false;       ///< the crashing arm crashes in blocks 1 to 3 and is stopped; without interrupted_block
    std::string unlucky_arm;    ///< each of its boots loses its emulator three times
    std::string failing_build;  ///< this arm has no kernel; the evaluation fails before its first block
    bool same_code = false;     ///< per-ns-work and deferred-free are the same machine code
    std::string status = "done";  ///< or "running": the last block is then still running
};

/// uid of the evaluation made with this number.
std::string sample_evaluation(int number = 1);

/// Throws std::runtime_error with the store's message when something is refused.
void fill(store::Store& store, const SampleOptions& options = {});

/// A database of its own in a temporary directory, filled.
struct SampleDatabase {
    explicit SampleDatabase(const SampleOptions& options = {});
    fs::path file() const { return directory.path() / "kab.db"; }
    TempDir directory;
    std::unique_ptr<store::Store> store;
};

}  // namespace kab::test
