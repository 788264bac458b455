#pragma once
// The profiled runs of a boot.
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "agent/guest/perf/kernel_symbols.h"
#include "agent/guest/perf/sampler.h"
#include "protocol/messages.h"

namespace kab::guest {

/// Sets up a sampler for each profiled run and makes its profile afterwards. That a profile cannot be had is no error
/// of the run: its metrics are absent with the reason, and there is no profile.
class Profiler {
  public:
    /// Before a run; nothing happens unless it is a profiled one.
    void prepare(const msg::RunOrder& order);
    /// What the run's Meter is to start and stop; nullptr: nothing.
    Sampler* sampler() { return sampler_ ? &*sampler_ : nullptr; }
    /// After a run of any kind, which took so long: buffers are made as large as earlier runs of the point ask for. Of
    /// a profiled run fills in the samples and the profile.
    void finish(const msg::RunOrder& order, Nanoseconds elapsed, msg::RunFinished& finished);

  private:
    Status make_profile(const msg::RunOrder& order, msg::RunFinished& finished);

    std::optional<Sampler> sampler_;
    std::string trouble_;                                                  ///< why there is no sampler
    std::map<std::pair<std::string, std::int64_t>, Nanoseconds> longest_;  ///< by workload and point
};

}  // namespace kab::guest
