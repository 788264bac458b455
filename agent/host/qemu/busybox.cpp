#include "agent/host/qemu/busybox.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace kab::qemu {
namespace {

constexpr const char* remedy = "install the package busybox-static";

/// Whether an ELF program for x86-64 runs without a dynamic linker; false for what is none.
Result<bool> is_static(const fs::path& path) {
    auto file = open_file(path, O_RDONLY);
    if (!file) return pass(file);
    Elf64_Ehdr header{};
    if (::pread(file->get(), &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header)) return false;
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_machine != EM_X86_64 || header.e_phentsize != sizeof(Elf64_Phdr)) {
        return false;
    }
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr part{};
        const auto offset = static_cast<off_t>(header.e_phoff + i * sizeof part);
        if (::pread(file->get(), &part, sizeof part, offset) != static_cast<ssize_t>(sizeof part)) return false;
        if (part.p_type == PT_INTERP) return false;
    }
    return true;
}

}  // namespace

Result<fs::path> find_busybox() {
    const char* named = std::getenv("KAB_BUSYBOX");
    const fs::path path = named != nullptr && *named != '\0' ? named : "/bin/busybox";
    const auto usable = is_static(path);
    if (!usable) return fail(Fault::infra, "{}; {}", usable.error().text(), remedy);
    if (!*usable) return fail(Fault::infra, "{} is not a static program for x86-64; {}", path.string(), remedy);
    return path;
}

}  // namespace kab::qemu
