#pragma once
// What `kab simulate` says. Pure.
#include <optional>
#include <string>
#include <vector>

#include "cli/earlier.h"
#include "common/workload_catalog.h"
#include "daemon/report/document.h"
#include "daemon/stats/forecast.h"

namespace kab::cli {

/// A standard deviation on the scale of the metric, and where it comes from.
struct Deviation {
    double sd = 0;
    std::string source;  ///< "given", "assumed", "evaluation 01J..."
};

struct Simulation {
    std::string experiment, primary, unit;
    Scale scale = Scale::log;
    Better better = Better::lower;
    int arms = 0;  ///< booted in each block, the control included
    int iterations = 1, points = 1;
    std::optional<double> quantile;  ///< of a boot's runs, by which it is judged; else by their mean
    bool exact = false;
    bool together = false;  ///< boot.sd is the spread of boots and runs together
    /// Runs a boot that this spread was measured with, where they are not `iterations`; else 0.
    int other_iterations = 0;
    Deviation boot, run;
    std::optional<BootTime> time;
    stats::ForecastInput input;  ///< of all effects; its own is that of none
    struct Case {
        double effect = 0;  ///< ratio - 1, or a difference
        stats::Forecast forecast;
    };
    std::vector<Case> cases;
};

report::Document simulate_document(const Simulation& simulation);
std::string simulate_json(const Simulation& simulation);  ///< one object, ends with a newline

/// The first look by which `share` of the evaluations have ended.
const stats::LookForecast& ended_by(const stats::Forecast& forecast, double share);
/// Of `blocks` blocks, the kernels being built; absent where no boot has been timed.
std::optional<Nanoseconds> time_of(const Simulation& simulation, int blocks);

}  // namespace kab::cli
