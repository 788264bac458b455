#pragma once
// Relative paths of a spec -> absolute ones.
#include <tl/expected.hpp>
#include <vector>

#include "common/paths.h"
#include "daemon/spec/parse.h"

namespace kab {

/// Looks up every source, base, fragment, patch and module directory: next to the spec's file, then in the
/// share directories (fragments also in <data>/configs/kernel, patches in <data>/patches). Absolute paths are
/// taken as they are. ".." is resolved as the file system does, so that what was looked at is what is named. Refused:
/// what does not exist or cannot be read, a relative path that leaves its directory by "..", devices, sockets and
/// fifos, a file where a directory is needed and the reverse. All errors at once: Fault::spec, `where` from `places`,
/// else the arm. On errors the experiment may be half changed. Reads directories only, no file's contents.
tl::expected<void, std::vector<Error>> resolve(Experiment& experiment, const fs::path& spec_directory,
                                               const Paths& paths, const Places& places = {});

/// True for what is fetched over a network or by an explicit file: URL, not a plain path.
bool is_git_url(std::string_view location);

}  // namespace kab
