#pragma once
// Prebuilt kernels: checked, hashed and copied into the cache when an experiment is submitted.
#include "daemon/kernel/kernel.h"

namespace kab::kernel {

/// Fault::not_found for a missing image or modules directory, Fault::spec for a kernel that is none.
Result<Frozen> freeze_image(const Request& request, const Paths& paths, const Progress& progress);

/// The copy in the cache. Fault::build if it is gone and so is the original, or the original has changed.
Result<Built> build_image(const Frozen& frozen, const Paths& paths);

}  // namespace kab::kernel
