#pragma once
// What can be said of the files an experiment names without the sources they are for.
#include <vector>

#include "common/result.h"
#include "daemon/spec/experiment.h"

namespace kab::cli {

/// A patch that is none or has CRLF, a series that names what is not there, a line that is no configuration, an image
/// that is no kernel: each file's first problem, each file once. Paths that are not absolute are passed over: they
/// could not be found, which has been told.
std::vector<Error> check_files(const Experiment& experiment);

}  // namespace kab::cli
