#pragma once
// The QEMU of this host, and whether KVM really works with it.
#include <string>

#include "common/clock.h"
#include "common/files.h"

namespace kab::qemu {

struct Emulator {
    fs::path program;
    std::string version;  ///< "QEMU emulator version 7.2.22 (Debian ...)"
};

/// Looks for qemu-system-x86_64 (KAB_QEMU names another). Fault::infra with the package to install.
Result<Emulator> find_emulator();

struct KvmVerdict {
    bool usable = false;
    std::string reason;  ///< why not; empty when usable
};

/// Proves KVM by running a guest of a few instructions with it, as boots would be run. A /dev/kvm that
/// can be opened proves nothing: under some hypervisors guests hang or QEMU aborts.
/// Blocks for the life of that guest, at most `limit`.
KvmVerdict probe_kvm(const Emulator& emulator, Nanoseconds limit = std::chrono::seconds(3));

/// What a host finds out once, before its first boot.
struct Accelerators {
    Emulator emulator;
    KvmVerdict kvm;
    std::int64_t tsc_khz = 0;  ///< of this machine; 0: unknown

    /// "kvm" or "tcg" for a request's auto, kvm or tcg. Fault::infra if KVM is demanded and does not
    /// work; Fault::spec for another word.
    Result<std::string> choose(const std::string& wanted) const;
};

Result<Accelerators> find_accelerators();

}  // namespace kab::qemu
