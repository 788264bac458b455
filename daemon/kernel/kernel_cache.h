#pragma once
// <cache>/kernels/<key>/: built kernels, whole or not there.
//   kernel.json  what is in it ("built") and what it was made from ("frozen")
//   vmlinux, bzImage, config, build.log; modules/ of a prebuilt kernel
#include <functional>
#include <optional>

#include "daemon/kernel/compile.h"

namespace kab::kernel {

/// The kernel of this key, if it is there and its file is the one that was put there.
Result<std::optional<Built>> find_built(const Paths& paths, const std::string& key);

/// Puts a compiled kernel into the cache.
Result<Built> publish(const Paths& paths, const Frozen& frozen, const Compiled& compiled, const WorkTree& work_tree);

/// Puts a copy of the prebuilt kernel frozen.image into the cache; `compiler` and logs are empty. `complete` gets the
/// copy, and the directory for its modules, which it makes if there are any; nothing appears in the cache if it fails.
Result<Built> publish_image(const Paths& paths, const Frozen& frozen, const std::string& format,
                            const std::function<Status(const fs::path& image, const fs::path& modules)>& complete);

/// Where in the cache the modules of a prebuilt kernel are.
fs::path image_modules(const Paths& paths, const std::string& key);

}  // namespace kab::kernel
