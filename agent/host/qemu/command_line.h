#pragma once
// From a boot request to QEMU's arguments and the kernel's command line. Pure.
#include <string>
#include <vector>

#include "agent/host/qemu/emulator.h"
#include "common/kernel_image.h"
#include "protocol/messages.h"

namespace kab::qemu {

/// Files of one boot. QEMU writes the console; the sockets are listened on by kab-host, and QEMU connects.
struct BootFiles {
    fs::path kernel, initramfs;
    fs::path console;         ///< the kernel's ttyS0
    fs::path port_socket;     ///< the virtio port kab.agent
    fs::path serial_socket;   ///< ttyS1; only on q35
    fs::path control_socket;  ///< QMP
};

struct BootPlan {
    std::string accel;    ///< "kvm" or "tcg"
    std::string machine;  ///< "microvm" or "q35"
    std::string channel;  ///< where the agent is told to speak: "virtio" or "ttyS1"
    std::string kernel_command_line;
    std::vector<std::string> arguments;     ///< for QEMU
    std::vector<std::string> clocksources;  ///< the guest must have one of these; empty: any
    std::int64_t cpus = 0;                  ///< and that many CPUs; 0: any
    bool timers = true;                     ///< and high-resolution timers in use, if its kernel has them
};

/// Fault::spec for what the request cannot have (a bzImage on a microvm, a command line that is too
/// long), Fault::infra for KVM that is demanded and does not work.
Result<BootPlan> plan_boot(const msg::BootRequest& request, const KernelImage& image, const Accelerators& accelerators,
                           const BootFiles& files);

}  // namespace kab::qemu
