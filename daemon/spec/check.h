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

/// All that `decide.primary` may name, as "workload/metric"; the first is the default. With `exact` what only exact
/// mode measures as well, but nothing that it cannot: what the kernel tells by its ticks.
std::vector<std::string> possible_primaries(const std::vector<WorkloadSpec>& specs, bool exact);

/// The catalog's, of a workload as it is declared: a share is better in the direction of its group.
MetricInfo find_metric(const WorkloadSpec& spec, std::string_view metric);
/// Of one of them; a metric without a name where there is no such workload.
MetricInfo find_metric(const std::vector<WorkloadSpec>& specs, std::string_view workload_and_metric);

/// An image is taken as it is; all else is built, so that there can be a debug variant.
inline bool is_built(const Arm& arm) {
    return arm.kernel.source.kind != Source::Kind::image;
}
inline constexpr const char* images_have_no_variants =
    "is for debug variants, of which there are none: all arms are images";

inline constexpr const char* direction_rule =
    "a share that is the primary metric needs a direction: give its group as {symbols: [...], better: lower} or higher";

}  // namespace kab
