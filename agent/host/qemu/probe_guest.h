#pragma once
// The smallest kernel there is: proof that a machine executes guest code at all.
#include <string>

namespace kab::qemu {

/// What QEMU exits with after the guest wrote 0x10 to isa-debug-exit: (0x10 << 1) | 1.
inline constexpr int probe_exit_code = 33;

/// An ELF file with a PVH entry whose code writes 0x10 to port 0xf4.
std::string probe_guest();

}  // namespace kab::qemu
