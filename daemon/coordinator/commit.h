#pragma once
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

/// Writes the core's transitions, in order, as compare-and-sets. `reports` by attempt uid; `host` is
/// the name recorded with new attempts.
Status commit_transitions(store::Writer& writer, const std::vector<core::Transition>& transitions, std::int64_t at,
                          const std::map<std::string, AttemptReport>& reports, const std::string& host);

}  // namespace kab
