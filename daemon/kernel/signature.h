#pragma once
// A hash of a kernel's machine code: equal for two kernels that do the same, wherever and whenever built.
#include <string>
#include <string_view>

#include "common/files.h"

namespace kab::kernel {

/// SHA-256 over the sections of an ELF file that are loaded: name, address, flags, size and contents. Left out
/// are the notes (build-id) and, zeroed where they stand, the texts that say who built it when: the banners,
/// the release and version in init_uts_ns, and the embedded configuration. They are found by content, so a
/// stripped kernel gives the same. Fault::spec if it is no such file.
Result<std::string> elf_signature(std::string bytes);

/// The ELF file packed into a bzImage, stripped by the kernel's build. Fault::spec if it cannot be unpacked.
Result<std::string> unpack_bzimage(std::string_view bytes);

/// elf_signature of a vmlinux, or of what a bzImage has packed; a bzImage that cannot be unpacked (LZO) is
/// hashed as a whole file.
Result<std::string> code_signature(const fs::path& kernel);

}  // namespace kab::kernel
