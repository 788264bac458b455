#pragma once
// Before and after of a comparison, from the very blocks and values its estimate is made of.
#include <optional>

#include "daemon/report/report.h"
#include "daemon/stats/cells.h"

namespace kab::report {

struct Level {
    double before = 0, after = 0;  ///< in the metric's unit
};

class Levels {
  public:
    /// `report` outlives this.
    explicit Levels(const ReportInput& report) : report_(report), cells_(report.input) {}
    /// Geometric means over the paired blocks (plain ones on a linear scale), so that they agree with the estimate:
    /// after = before x ratio, or before + difference. Absent for a sweep's mean and without an estimate.
    std::optional<Level> of(const stats::Comparison& comparison) const;

  private:
    const ReportInput& report_;
    stats::Cells cells_;
};

}  // namespace kab::report
