#pragma once
// What the sample database is made from: its experiment, the figures of its arms, its noise.
#include <cstdint>

#include "common/json.h"
#include "tests/support/database/sample_database.h"

namespace kab::test {

inline constexpr std::int64_t second = 1000000000;
inline constexpr std::int64_t start_at = 1767268800 * second;  // 2026-01-01T12:00:00Z
inline constexpr const char* workload = "ipcns-exit";

inline constexpr const char* software_counters[] = {"task-clock", "context-switches", "cpu-migrations", "page-faults"};
inline constexpr const char* hardware_counters[] = {
    "cycles", "instructions", "stalled-cycles-frontend", "stalled-cycles-backend", "branches", "branch-misses"};

/// Roughly normal, mean 0 and sd 1, the same on every machine.
class Noise {
  public:
    double next() {
        double sum = 0;
        for (int i = 0; i < 12; ++i) {
            state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
            sum += static_cast<double>(state_ >> 40) / static_cast<double>(1ULL << 24);
        }
        return sum - 6;
    }

  private:
    std::uint64_t state_ = 20260101;
};

struct ArmFigures {
    const char* name;
    double elapsed, backlog, task_clock;  ///< seconds
};
/// Shares of the samples in percent: of inline-free and A', per-ns-work, deferred-free.
struct SymbolFigures {
    const char *symbol, *caller;
    double percent[3];
};
inline constexpr SymbolFigures profile_figures[] = {
    {"_raw_spin_lock", "free_ipcs", {31.0, 9.0, 8.0}},
    {"_raw_spin_lock", "copy_ipcs", {11.0, 11.5, 11.3}},
    {"native_queued_spin_lock_slowpath", "free_ipcs", {4.2, 0, 0}},
    {"clear_page_erms", "", {14.0, 20.1, 21.4}},
    {"process_one_work", "", {0, 6.5, 2.2}},
    {"copy_page_range_of_a_very_long_name_that_is_cut", "", {6.1, 8.0, 8.1}},
    {"rare_function", "", {0.02, 0.03, 0.02}},
    {"[user]", "", {3.0, 4.4, 4.6}}};

inline constexpr ArmFigures figures[] = {{"inline-free", 1.20, 0.011, 2.30},
                                         {"per-ns-work", 1.02, 4.90, 2.95},
                                         {"deferred-free", 0.95, 4.40, 3.10},
                                         {"A'", 1.20, 0.011, 2.30}};

/// The experiment of an evaluation made with these options, as the database has it.
Json experiment_json(const SampleOptions& options);

}  // namespace kab::test
