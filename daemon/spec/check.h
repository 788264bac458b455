#pragma once
// What must hold of every experiment, whether it was read from YAML (where each problem is told with its place) or
// came as JSON over the API.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "daemon/spec/experiment.h"

namespace kab {

/// Fault::spec with the first thing that is not as docs/experiment-yaml.md has it; `where` is the path of the key,
/// such as "decide.looks".
Status check_experiment(const Experiment& experiment);

/// Lower-case letters, digits, '.', '_' and '-', a letter or digit first.
bool is_name(std::string_view text);
inline constexpr const char* name_rule = "lower-case letters, digits, '.', '_' and '-', a letter or digit first";

/// False for what git would take for an option or for the name of a helper to run ("ext::...").
bool may_be_repository(std::string_view location);
/// False for what names no branch, tag or commit by its form: options, ranges, patterns.
bool may_be_ref(std::string_view ref);

/// A kernel symbol, where `*` stands for any text.
bool may_be_symbol(std::string_view text);
inline constexpr const char* symbol_rule =
    "a kernel symbol has letters, digits, '_', '.' and '$', and '*' for any text, but is not all '*'";

/// Runs of one workload in a boot: points times iterations, of every kind.
std::int64_t runs_per_boot(const WorkloadSpec& spec);

/// All that `decide.primary` may name, as "workload/metric"; with `exact` what only exact mode measures as well.
std::vector<std::string> possible_primaries(const std::vector<WorkloadSpec>& specs, bool exact);

}  // namespace kab
