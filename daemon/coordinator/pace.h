#pragma once
// How long things take here, from what was seen so far: for the estimated time left.
#include <cstdint>
#include <map>
#include <string>

#include "daemon/coordinator/core/state.h"

namespace kab {

class Pace {
  public:
    /// A boot of `arm` took this long from dispatch to end.
    void boot_took(const std::string& evaluation, int arm, Nanoseconds time);
    void dispatched(const std::string& attempt, WallTime now) { started_[attempt] = now; }
    /// The time since dispatched(); zero when unknown.
    Nanoseconds finished(const std::string& attempt, WallTime now);

    struct Outlook {
        std::int64_t block = 0, blocks = 0, boots_done = 0, boots = 0;
        Nanoseconds left{0};  ///< zero while no boot of the evaluation has ended
    };
    /// Until the next look.
    Outlook outlook(const core::Evaluation& evaluation) const;

  private:
    struct Mean {
        std::int64_t count = 0;
        double nanoseconds = 0;
    };
    std::map<std::string, std::map<int, Mean>> means_;
    std::map<std::string, WallTime> started_;
};

}  // namespace kab
