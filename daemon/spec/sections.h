#pragma once
// The sections of an experiment's file, each read into its struct. Internal to daemon/spec.
#include <string>
#include <vector>

#include "daemon/spec/parse.h"
#include "daemon/spec/reader.h"

namespace kab {

/// `kernel:` (may be absent) and `arms:`; fills arms and places.
void read_arms(const yaml::Map& document, std::vector<Arm>& arms, Places& places);
void read_workloads(const yaml::Map& document, std::vector<WorkloadSpec>& workloads);
void read_host(const yaml::Map& document, HostSpec& host);
/// Needs the workloads, which the primary metric must be one of.
void read_decide(const yaml::Map& document, const std::vector<WorkloadSpec>& workloads, Decide& decide);
void read_limits(const yaml::Map& document, Limits& limits);

}  // namespace kab
