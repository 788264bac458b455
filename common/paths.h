#pragma once
// Where kab keeps things (docs/architecture.md, "State on disk").
#include "common/files.h"

namespace kab {

struct Paths {
    fs::path state;  ///< database, artifacts, sockets: KAB_STATE_DIR or $XDG_STATE_HOME/kab or ~/.local/state/kab
    fs::path cache;  ///< rebuildable: KAB_CACHE_DIR or $XDG_CACHE_HOME/kab or ~/.cache/kab
    /// Share directories in the order they are searched: KAB_DATA_DIR, the build's source tree, the install prefix.
    std::vector<fs::path> data;

    fs::path database() const { return state / "kab.db"; }
    fs::path socket() const { return state / "kabd.sock"; }
    fs::path artifacts() const { return state / "artifacts"; }
    fs::path kernels() const { return cache / "kernels"; }

    /// From the environment of this process. Fault::usage when neither HOME nor the variables are set.
    static Result<Paths> from_environment();
};

/// A program of kab's own (kab-host, kab-agent, kab-build, kab-supervise): KAB_LIBEXEC_DIR, then
/// beside the running executable, then <prefix>/libexec/kab. Fault::infra names what was tried.
Result<fs::path> find_program(const std::string& name);

/// A file of the share directories: `relative` under each of paths.data in turn.
Result<fs::path> find_data(const Paths& paths, const fs::path& relative);

}  // namespace kab
