#pragma once
// <cache>/kernels/<key>/: built kernels, whole or not there.
//   kernel.json  what is in it ("built") and what it was made from ("frozen")
//   vmlinux, bzImage, config, build.log
#include <functional>
#include <optional>

#include "daemon/kernel/compile.h"

namespace kab::kernel {

/// The kernel of this key, if it is there and its file is the one that was put there.
Result<std::optional<Built>> find_built(const Paths& paths, const std::string& key);

/// Puts a compiled kernel into the cache.
Result<Built> publish(const Paths& paths, const Frozen& frozen, const Compiled& compiled, const WorkTree& work_tree);

/// Puts a copy of the prebuilt kernel frozen.image into the cache; `compiler` and logs are empty. Nothing
/// appears in the cache if `check` refuses the copy's SHA-256.
Result<Built> publish_image(const Paths& paths, const Frozen& frozen, const std::string& format,
                            const std::function<Status(const std::string& image_hash)>& check);

}  // namespace kab::kernel
