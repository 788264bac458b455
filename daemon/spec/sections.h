#pragma once
// The sections of an experiment's file, each read into its struct. Internal to daemon/spec.
#include <optional>
#include <string>
#include <vector>

#include "common/workload_catalog.h"
#include "daemon/spec/parse.h"
#include "daemon/spec/reader.h"

namespace kab {

/// `kernel:` (may be absent) and `arms:`; fills arms and places.
void read_arms(const yaml::Map& document, std::vector<Arm>& arms, Places& places);
void read_workloads(const yaml::Map& document, std::vector<WorkloadSpec>& workloads);
/// `checks:` and `debug:`, which has a default where there are checks.
void read_checks(const yaml::Map& document, const std::vector<Arm>& arms, std::vector<CheckSpec>& checks,
                 DebugSpec& debug, Places& places);
/// The catalog's names of what may stand under `workloads:` (false) or `checks:` (true).
std::vector<std::string> catalog_names(bool checks);
/// `with:`, each parameter in its range.
void read_with(const yaml::Map& map, const WorkloadInfo& info, Parameters& with);
/// Files or directories named in a list; `places` learns where each stands.
std::vector<std::string> read_paths(const yaml::Value& list, Places& places);
/// `profile:` of a workload; stays empty where there is none.
void read_profile(const yaml::Map& workload, std::optional<ProfileSpec>& profile);
void read_host(const yaml::Map& document, HostSpec& host);
/// Needs arms, host and workloads, whose metrics the primary must be one of.
void read_decide(const yaml::Map& document, Experiment& experiment);
/// Needs the host, on which not every cause can be had.
void read_exclude(const yaml::Map& document, const HostSpec& host, Exclude& exclude);
void read_limits(const yaml::Map& document, Limits& limits);

}  // namespace kab
