#pragma once
// Files handed over by content: the blob folder, and the private copy an evaluation is frozen from.
#include <map>
#include <string>
#include <vector>

#include "common/paths.h"
#include "common/result.h"
#include "daemon/coordinator/service.h"
#include "daemon/kernel/kernel.h"
#include "daemon/plan/plan.h"

namespace kab {

class Inputs {
  public:
    explicit Inputs(const fs::path& state) : blobs_(state / "blobs"), frozen_(state / "inputs") {}

    /// Fault::usage when the bytes are not what the name says.
    Status put(const std::string& sha256, const std::string& bytes) const;

    bool has(const std::string& sha256) const;

    /// Copies the blobs of `files` to a folder of the evaluation's own, each under its own path, which must be
    /// absolute and clean (Fault::usage): with ".." it could mean another file here than there.
    /// Fault::conflict names a blob that was not uploaded.
    Status materialise(const std::string& evaluation, const std::vector<InputFile>& files) const;

    /// Where a file of the experiment was put, always within the evaluation's folder; a directory with a series keeps
    /// its shape.
    fs::path place(const std::string& evaluation, const fs::path& original) const;

    /// The request for the kernel of a planned arm, its files replaced by the private copies. A relinked arm's code is
    /// moved, a debug arm has the experiment's debug fragments and patches on top of its own.
    kernel::Request request(const std::string& evaluation, const Experiment& experiment, const PlannedArm& arm) const;

    /// Removes blobs and copies that belong to none of `evaluations`. Call while nothing is being uploaded.
    void sweep(const std::vector<std::string>& evaluations) const;

    /// After freezing the copies are not needed: their text is part of the frozen kernels.
    void remove(const std::string& evaluation) const;

  private:
    fs::path blobs_, frozen_;
};

}  // namespace kab
