#pragma once
// Configures and makes one kernel in a work tree.
#include <string>

#include "daemon/kernel/build_log.h"
#include "daemon/kernel/work_tree.h"

namespace kab::kernel {

struct Compiled {
    fs::path vmlinux;
    fs::path image;  ///< what is booted: vmlinux if it has a PVH entry, else the bzImage
    std::string format;
    std::string config;
    std::int64_t wall_ns = 0, cpu_ns = 0;
    std::int64_t objects = 0, warnings = 0;
};

/// `work_tree` must be checked out; everything make prints goes to the file work_tree.file("build.log").
/// Fault::spec for a configuration that is not granted, Fault::build for a failed build, Fault::io for a full disk.
Result<Compiled> compile(const Frozen& frozen, const WorkTree& work_tree, const Progress& progress);

}  // namespace kab::kernel
