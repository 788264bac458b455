#pragma once
// Figures made of two counters of the same run, such as instructions per cycle.
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/report/report.h"

namespace kab::report {

struct DerivedLine {
    std::string label;        ///< "CPUs utilized"
    std::string over, under;  ///< metrics: numerator, denominator
};

struct DerivedValue {
    double mean = 0;                    ///< of the boot means
    std::optional<double> relative_sd;  ///< of the boot means; absent with one boot
};

class Derived {
  public:
    explicit Derived(const ReportInput& report);
    /// The lines shown below a metric's own.
    std::vector<DerivedLine> after(const std::string& metric) const;
    /// Absent unless both metrics were counted in the same runs.
    std::optional<DerivedValue> value(const DerivedLine& line, const std::string& workload, const std::string& point,
                                      const std::string& arm) const;

  private:
    /// workload, point, arm, metric -> (block, iteration) -> value
    using Key = std::tuple<std::string, std::string, std::string, std::string>;
    std::map<Key, std::map<std::pair<std::int64_t, std::int64_t>, double>> values_;
};

}  // namespace kab::report
