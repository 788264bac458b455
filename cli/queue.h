#pragma once
#include <string>
#include <vector>

#include "protocol/api/types.h"

namespace kab::cli {

/// What evaluation `uid` waits for: "queued behind ipc-ns (block 2/6), 1 more before this one". Named by its
/// experiment, or by its uid when both are of the same one. Empty when nothing else is under way. `all`: newest first.
std::string describe_queue(const std::vector<api::Evaluation>& all, const std::string& uid);

}  // namespace kab::cli
