#pragma once
// What kind of file a kernel is, and which machine can boot it.
#include <string>
#include <string_view>

#include "common/files.h"

namespace kab {

struct KernelImage {
    enum class Kind {
        vmlinux,  ///< ELF for x86-64 with a PVH entry
        bzimage,
    };
    Kind kind = Kind::bzimage;
    std::string release;  ///< "6.1.0-57-amd64", as far as the file tells; may be empty
    /// What is built in, as far as a vmlinux tells (a bzImage is compressed and tells nothing).
    bool virtio_mmio = false;  ///< with devices from the command line, as microvm wants it
    bool virtio_console = false;
    bool virtio_pci = false;
};

/// Looks into the file. Fault::not_found when it is not there, Fault::spec when it is no kernel that
/// can be booted: "not a kernel: FILE is neither a bzImage nor an ELF file".
Result<KernelImage> inspect_kernel(const fs::path& path);

/// "microvm" or "q35". `wanted` is "auto" or one of them; Fault::spec when this kernel cannot boot there, or could
/// not speak there: the drivers that a microvm needs are named.
Result<std::string> machine_for(const KernelImage& image, std::string_view wanted);

}  // namespace kab
