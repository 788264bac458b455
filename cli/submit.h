#pragma once
#include "cli/spec_file.h"

namespace kab::cli {

/// Hands the experiment over, starting a daemon if there is none; the evaluation's uid. A daemon that goes away
/// meanwhile is started again and the submission repeated: it is never taken twice.
Result<std::string> submit_spec(const Paths& paths, const SpecFile& spec);

}  // namespace kab::cli
