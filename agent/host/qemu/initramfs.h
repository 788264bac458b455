#pragma once
#include <vector>

#include "agent/host/qemu/modules.h"

namespace kab::qemu {

/// SHA-256 of the very bytes that were packed: a file may be replaced between two boots, or while it is read.
struct PackedPrograms {
    std::string agent;
    std::string shell;  ///< busybox; empty without one
};

/// Writes an initramfs (cpio "newc", not compressed: a lean kernel has no decompressors) in which the
/// agent is /init; with /dev/console, the directories that init mounts over, and under /kab/modules the
/// modules with their load order in /kab/modules/load, and `plan` as /kab/plan unless it is empty. With `busybox`
/// (unless empty) there are a /bin/sh and the tools of the shell workload. Fault::io when it cannot be written.
Result<PackedPrograms> write_initramfs(const fs::path& path, const fs::path& agent,
                                       const std::vector<ModuleFile>& modules, std::string_view plan = {},
                                       const fs::path& busybox = {});

}  // namespace kab::qemu
