#pragma once
#include "common/files.h"

namespace kab::qemu {

/// A temporary directory that a later kab-host removes should this process not live to do it: a lock file in
/// it tells whether the owner lives.
class Scratch {
  public:
    static Result<Scratch> make();
    const fs::path& path() const { return directory_.path(); }

  private:
    Scratch(TempDir directory, FileLock lock) : directory_(std::move(directory)), lock_(std::move(lock)) {}
    TempDir directory_;
    FileLock lock_;
};

/// Removes what killed hosts have left, if it is older than a minute. What cannot be removed stays.
void sweep_scratch();

}  // namespace kab::qemu
