#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "daemon/coordinator/core/step.h"
#include "daemon/store/store.h"

namespace kab {

/// What the host said of an attempt's end, kept until the core decides what it means.
struct AttemptReport {
    store::AttemptEnd end;
    std::vector<store::NewConsoleEvent> events;
};

/// What the shell knows beside the transitions.
struct CommitContext {
    std::int64_t at = 0;                                  ///< UTC ns
    const std::map<std::string, AttemptReport>& reports;  ///< by attempt uid
    std::string host;                                     ///< recorded with new attempts
    std::function<std::string(const std::string& evaluation)> plan_hash;
};

/// Writes the core's transitions, in order, as compare-and-sets.
Status commit_transitions(store::Writer& writer, const std::vector<core::Transition>& transitions,
                          const CommitContext& context);

}  // namespace kab
