#pragma once
// An experiment's file and all that it names, ready to be handed over.
#include <optional>
#include <string>
#include <vector>

#include "common/paths.h"
#include "daemon/spec/experiment.h"

namespace kab::cli {

struct SpecFile {
    std::string text, name;  ///< name: as given on the command line
    Experiment experiment;   ///< resolved: paths are absolute
};

/// Reads, parses, resolves, and looks into the files it names (file_check.h). On errors prints all of them on stderr,
/// one a line as "file:line:col: message", and gives nothing.
std::optional<SpecFile> load_spec(const Paths& paths, const std::string& file);

/// A file whose content goes to the daemon.
struct LocalFile {
    std::string path, bytes, sha256;
};

/// Patches (of a directory: its `series` and what that lists), fragments and base configs, each once.
/// Fault::spec names a file that cannot be read.
Result<std::vector<LocalFile>> collect_inputs(const Experiment& experiment);

}  // namespace kab::cli
