#pragma once
// <cache>/worktrees/<family>: one checked-out source and one output directory, in which kernels of a family
// are built one after the other so that only what differs is compiled again.
//
//   lock       held while somebody works here
//   running    locked as long as a make runs here, by its supervisor too: after a SIGKILL of us it still writes a
//   moment busy       present while src and out are being changed; names the boot of this machine index, tree, src/
//   what is checked out configure/ O= of the configuration steps, out/ O= of the build tmp/       TMPDIR of both: what
//   a killed compiler leaves there goes before the next build objects    compiled in the last complete build, for
//   progress
#include <optional>
#include <string>
#include <vector>

#include "common/paths.h"
#include "daemon/kernel/git.h"
#include "daemon/kernel/kernel.h"

namespace kab::kernel {

class WorkTree {
  public:
    /// Waits for its lock (progress "waiting").
    /// Fault::build where kernels cannot be built, see check_place().
    static Result<WorkTree> open(const Paths& paths, const std::string& family, const Progress& progress);

    /// From here to finish() files are changed. If the one before us never came to finish() (killed, power
    /// failure), what it may have left half-made is removed first.
    Status begin();
    /// All that is there is whole again, though a build may have failed.
    Status finish();

    /// To be told after begin(): what another toolchain has built is removed (kbuild itself sees a new compiler, but no
    /// new assembler or linker).
    Status use_toolchain(const std::string& toolchain);

    /// Makes src the tree `tree` of the store; only files that differ are written.
    Status check_out(const Git& store, const std::string& tree);
    /// Files changed by check_out, relative to src; nullopt if src was made anew.
    const std::optional<std::vector<std::string>>& changed_files() const { return changed_files_; }
    const std::string& tree() const { return tree_; }                    ///< checked out now
    const std::string& previous_tree() const { return previous_tree_; }  ///< checked out before

    int running() const { return running_.get(); }  ///< for ProcessSpec::held

    fs::path source() const { return directory_ / "src"; }
    fs::path output() const { return directory_ / "out"; }
    fs::path configure_output() const { return directory_ / "configure"; }
    fs::path temporary() const { return directory_ / "tmp"; }
    fs::path file(const std::string& name) const { return directory_ / name; }

    /// The text of one of its small files; empty if there is none.
    std::string note(const std::string& name) const;
    Status set_note(const std::string& name, const std::string& text) const;

    /// Removes all built files; the sources too if they may be incomplete.
    Status drop(bool sources) const;

  private:
    WorkTree(FileLock lock, fs::path directory) : lock_(std::move(lock)), directory_(std::move(directory)) {}
    Status repair();
    FileLock lock_;
    UniqueFd running_;
    fs::path directory_;
    std::optional<std::vector<std::string>> changed_files_;
    std::string tree_, previous_tree_;
    bool repaired_ = false;
};

/// Fault::build if the cache's path holds what the kernel's makefiles refuse.
Status check_place(const Paths& paths);

/// Removes from an O= directory whose make was killed what may be half-written: a target newer than the record
/// kbuild writes after it (.NAME.cmd), and all that was written in the last moments before the end.
Status heal_output(const fs::path& output);

/// How many objects make will compile again: those that depend on one of these files (relative to `source`) or
/// configuration symbols by kbuild's own records.
std::int64_t objects_to_rebuild(const fs::path& output, const fs::path& source, const std::vector<std::string>& files,
                                const std::vector<std::string>& symbols);

}  // namespace kab::kernel
