#pragma once
// Kernel modules that the agent needs loaded before it can speak.
#include <string>
#include <vector>

#include "common/files.h"

namespace kab::qemu {

struct ModuleFile {
    std::string name;   ///< file name in the initramfs, uncompressed: "virtio_ring.ko"
    std::string bytes;  ///< the ELF file, with its signature if it has one
};

/// What virtio_console over PCI needs, in the order in which it must be loaded. `directory` is
/// /lib/modules/VERSION, or a root directory holding one. Dependencies are read from the modules
/// themselves, so depmod need not have run. Modules built into the kernel are left out.
/// Fault::spec when the directory holds none or more than one kernel's modules, or lacks a dependency.
Result<std::vector<ModuleFile>> virtio_modules(const fs::path& directory);

/// "depends=" of a module's .modinfo section.
Result<std::vector<std::string>> module_dependencies(std::string_view elf, const std::string& name);

}  // namespace kab::qemu
