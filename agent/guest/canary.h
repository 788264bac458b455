#pragma once
// A fixed loop beside each run: how fast this machine was just then, whatever is measured.
#include <optional>

#include "protocol/messages.h"

namespace kab::guest {

/// Nanoseconds that the loop took: the same work every time, a few milliseconds, nothing but registers.
double canary_ns();

/// The condition "canary" of a run: the slower of the loops before and after it, both outside its clock.
class Canary {
  public:
    /// Runs the loop, unless `exact`: there it would cost instructions and could find nothing.
    explicit Canary(bool exact);
    /// Runs it again.
    msg::Sample after_run() const;

  private:
    std::optional<double> before_;
};

}  // namespace kab::guest
