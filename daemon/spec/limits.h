#pragma once
// What an experiment may ask for, whichever way it comes: as YAML or as JSON over the API. Documented in
// docs/experiment-yaml.md and schema/experiment.schema.json.
#include <cstddef>
#include <cstdint>

#include "common/clock.h"

namespace kab::spec_limits {

inline constexpr std::size_t longest_name = 100, longest_question = 1000;
inline constexpr std::size_t least_arms = 2, most_arms = 32, longest_arm_name = 40;
inline constexpr std::size_t longest_path = 4096, longest_ref = 255;
inline constexpr std::size_t longest_command_line = 1024;  ///< the kernel's own limit is 2048, kab's part included
inline constexpr std::size_t most_files = 1000;            ///< patches of an arm, fragments of an arm

inline constexpr std::size_t most_workloads = 32, most_checks = 32;
inline constexpr int most_iterations = 1000;
inline constexpr std::int64_t most_points = 1000;         ///< of one workload's sweep
inline constexpr std::int64_t most_runs_per_boot = 2000;  ///< a boot's plan must fit into one message

inline constexpr std::size_t most_groups = 32, most_symbols = 64;  ///< of a profile; symbols or callers of a group
inline constexpr std::size_t longest_symbol = 200, longest_group_name = 40;
inline constexpr int most_frequency_hz = 10000;

inline constexpr int most_cpus = 256;
inline constexpr std::int64_t least_memory = 64LL << 20, most_memory = 1LL << 40;

inline constexpr int least_blocks = 2, most_blocks = 1000;
inline constexpr std::size_t most_looks = 50;
/// Default in exact mode, where boots differ by the phase of the timer only. Without any variation two blocks say all.
inline constexpr int exact_looks[] = {3, 6};
inline constexpr double most_margin = 0.99, most_linear_margin = 1e15;
inline constexpr double least_alpha = 1e-6, most_alpha = 0.5;

inline constexpr double most_host_load = 1000, most_share = 1, most_canary = 10;  ///< of `exclude`

inline constexpr Nanoseconds least_limit = std::chrono::milliseconds(10), most_limit = std::chrono::hours(24 * 60);

}  // namespace kab::spec_limits
