#pragma once
#include <vector>

#include "agent/host/qemu/modules.h"

namespace kab::qemu {

/// Writes an initramfs (cpio "newc", not compressed: a lean kernel has no decompressors) in which the
/// agent is /init; with /dev/console, the directories that init mounts over, and under /kab/modules the
/// modules with their load order in /kab/modules/load. Fault::io when it cannot be written.
Status write_initramfs(const fs::path& path, const fs::path& agent, const std::vector<ModuleFile>& modules);

}  // namespace kab::qemu
