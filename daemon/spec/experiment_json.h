#pragma once
#include "common/json.h"
#include "common/result.h"
#include "daemon/spec/experiment.h"

namespace kab {

/// The whole experiment as JSON, with the spec's own words and every default filled in; `looks` or `fixed`,
/// durations in nanoseconds (`limits.boot_ns`), memory in bytes. What kab hands to kabd and the store keeps.
Json to_json(const Experiment& experiment);

/// Back again. Fault::spec for what to_json would not have made.
Result<Experiment> experiment_from_json(const Json& json);

}  // namespace kab
