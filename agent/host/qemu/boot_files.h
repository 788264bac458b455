#pragma once
// What a boot needs on disk, all of it in one directory that goes when the boot ends.
#include "agent/host/qemu/command_line.h"
#include "agent/host/qemu/initramfs.h"
#include "agent/host/qemu/scratch.h"

namespace kab::qemu {

struct PreparedBoot {
    Scratch directory;
    BootFiles files;
    BootPlan plan;
    PackedPrograms programs;  ///< what is in the initramfs
};

/// Looks at the kernel, packs the initramfs from the programs as they are now, and plans. Fault::spec and the like say
/// what is wrong with the request, Fault::infra and io what is wrong here.
Result<PreparedBoot> prepare_boot(const msg::BootRequest& request, const Accelerators& accelerators);

}  // namespace kab::qemu
