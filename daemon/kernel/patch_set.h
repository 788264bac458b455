#pragma once
// Patches as people keep them: a diff, a mail, a mailbox with several, a directory with a quilt series.
#include <string>
#include <vector>

#include "daemon/kernel/kernel.h"
#include "daemon/kernel/source_store.h"

namespace kab::kernel {

struct Patch {
    std::string name;     ///< for people: "0001-x.patch", "series.mbox (mail 2)"
    std::string subject;  ///< without "[PATCH 1/2]"; empty for a bare diff
    std::string text;     ///< the diff, with whatever is written above it
    int strip = 1;        ///< -pN
};

/// All patches of `paths`, in order. Fault::spec names the file (and line) for a file that holds no diff, CRLF
/// line endings, a series that names a missing file; Fault::not_found for a path that is not there.
Result<std::vector<Patch>> load_patches(const std::vector<std::string>& paths, const SourceStore& store);

struct Patched {
    std::string tree;
    std::vector<PatchInfo> patches;
};

/// The tree with all patches applied, without fuzz. Fault::spec names the patch and the hunk that does not
/// apply. `base_name` is what the patches are applied to, for people.
Result<Patched> apply_patches(const std::vector<Patch>& patches, const std::string& tree, const std::string& base_name,
                              const SourceStore& store, const Progress& progress);

}  // namespace kab::kernel
