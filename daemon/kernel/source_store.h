#pragma once
// <cache>/sources.git: the bare repository in which every source is a tree. Objects are added only under its
// lock and never change; readers need no lock. A tree is complete once a ref under refs/kab/ leads to it.
#include <optional>
#include <string>

#include "common/machine_lock.h"
#include "common/paths.h"
#include "daemon/kernel/git.h"
#include "daemon/kernel/kernel.h"

namespace kab::kernel {

class SourceStore {
  public:
    /// Makes the repository if there is none, takes its lock (progress "waiting" meanwhile), and removes what
    /// a killed predecessor left.
    static Result<SourceStore> open(const Paths& paths, const Progress& progress);

    /// For reading only: no lock, not made if missing.
    static Git reader(const Paths& paths);

    /// The tree that `ref` leads to, if it is there.
    Result<std::optional<std::string>> find(const std::string& ref) const;

    /// Makes `ref` lead to `object`.
    Status set(const std::string& ref, const std::string& object) const;

    /// Copies `tree` and all it holds from another repository, only what is missing here, alone on the machine.
    /// `what` is imported, for people.
    Status import(const Git& from, const std::string& tree, const std::string& what, const Progress& progress) const;

    /// Marks `tree`, which must be complete, as to be kept.
    Status keep(const std::string& tree) const;

    /// True if git finds objects that are not what they were (reads all: half a minute for a kernel).
    bool damaged() const;
    /// Removes the repository; it is made anew when opened next. Kernels frozen before must be frozen again.
    Status drop() const;

    /// Removes what interrupted or failed git commands left (half a pack, lock files), and empties scratch().
    void sweep() const;

    const Git& git() const { return git_; }
    /// For temporary files; emptied whenever the store is opened.
    const fs::path& scratch() const { return scratch_; }

  private:
    SourceStore(FileLock lock, Git git, fs::path scratch)
        : lock_(std::move(lock)), git_(std::move(git)), scratch_(std::move(scratch)) {}
    FileLock lock_;
    Git git_;
    fs::path scratch_;
};

/// Takes a lock file, with progress "waiting" while another has it.
Result<FileLock> take_lock(const fs::path& path, const Progress& progress);

/// Takes the machine-wide lock for heavy work, with progress "waiting for ..." meanwhile.
Result<MachineLock> take_machine(const std::string& purpose, const Progress& progress);

/// Reads one file of a tree. Fault::not_found if the tree has no such file.
Result<std::string> read_blob(const Git& git, const std::string& tree, const std::string& path);

}  // namespace kab::kernel
