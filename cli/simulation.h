#pragma once
// What `kab simulate` simulates: from an experiment, what the user gave, and what earlier evaluations tell.
#include <optional>
#include <string>

#include "cli/simulate_report.h"
#include "daemon/plan/plan.h"

namespace kab::cli {

/// Options of the user, as given; empty: not given.
struct GivenSpread {
    std::string boot, run;  ///< --sd-boot, --sd-run
};

/// All but spread, time, cases and seed.
Simulation start(const Plan& plan);

/// A number as the metric of the simulation has it: a share such as 2% where it is compared by ratio, else in its unit.
/// Fault::usage, naming `option`.
Result<double> magnitude(const std::string& text, const char* option, const Simulation& simulation);

/// The spread of boots and runs, and of a block difference, from what is given, else from `earlier`, else assumed.
/// Fault::usage where none of these tells it, and where nothing varies.
Status set_spread(Simulation& simulation, const GivenSpread& given, const std::optional<Spread>& earlier);

}  // namespace kab::cli
