#include "common/kernel_image.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <optional>

namespace kab {
namespace {

constexpr std::uint32_t note_pvh_entry = 18;  // XEN_ELFNOTE_PHYS32_ENTRY
// Documentation/x86/boot.rst of Linux
constexpr std::size_t boot_flag_at = 0x1FE, magic_at = 0x202, version_string_at = 0x20E, load_flags_at = 0x236;

/// A file mapped for reading.
class Mapping {
  public:
    Mapping(void* at, std::size_t size) : at_(at), size_(size) {}
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping() { ::munmap(at_, size_); }
    std::string_view bytes() const { return {static_cast<const char*>(at_), size_}; }

  private:
    void* at_;
    std::size_t size_;
};

/// A trivially copyable T at an offset; nullopt beyond the end.
template <class T>
std::optional<T> at(std::string_view bytes, std::uint64_t offset) {
    if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

bool contains(std::string_view bytes, std::string_view word) {
    return std::search(bytes.begin(), bytes.end(), std::boyer_moore_horspool_searcher(word.begin(), word.end())) !=
           bytes.end();
}

bool has_pvh_note(std::string_view notes) {
    std::uint64_t offset = 0;
    while (const auto header = at<Elf64_Nhdr>(notes, offset)) {
        const auto padded = [](std::uint64_t size) { return (size + 3) & ~std::uint64_t{3}; };
        const std::uint64_t name = offset + sizeof(Elf64_Nhdr);
        if (header->n_type == note_pvh_entry && header->n_namesz == 4 &&
            notes.substr(name, 4) == std::string_view("Xen", 4)) {
            return true;
        }
        offset = name + padded(header->n_namesz) + padded(header->n_descsz);
    }
    return false;
}

Result<KernelImage> inspect_elf(std::string_view bytes, const fs::path& path) {
    const auto header = at<Elf64_Ehdr>(bytes, 0);
    if (!header || header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_X86_64) {
        return fail(Fault::spec, "not a kernel for this machine: {} is an ELF file, but not for x86-64", path.string());
    }
    KernelImage image;
    image.kind = KernelImage::Kind::vmlinux;
    bool pvh = false;
    for (unsigned i = 0; i < header->e_phnum; ++i) {
        const auto segment = at<Elf64_Phdr>(bytes, header->e_phoff + std::uint64_t{i} * sizeof(Elf64_Phdr));
        if (!segment || segment->p_offset > bytes.size() || segment->p_filesz > bytes.size() - segment->p_offset) {
            return fail(Fault::spec, "not a kernel: {} is a damaged ELF file (segment {} ends beyond the file)",
                        path.string(), i);
        }
        const auto content = bytes.substr(segment->p_offset, segment->p_filesz);
        if (segment->p_type == PT_NOTE) pvh = pvh || has_pvh_note(content);
        if (segment->p_type != PT_LOAD) continue;
        image.virtio_mmio = image.virtio_mmio || contains(content, std::string_view("virtio_mmio.device", 19));
        image.virtio_console = image.virtio_console || contains(content, std::string_view("\0virtio_console", 16));
        image.virtio_pci = image.virtio_pci || contains(content, std::string_view("virtio-pci\0", 11));
        const auto banner = image.release.empty() ? content.find("Linux version ") : std::string_view::npos;
        if (banner != std::string_view::npos) {
            const auto rest = content.substr(banner + std::strlen("Linux version "), 64);
            if (!rest.empty() && rest[0] >= '0' && rest[0] <= '9') image.release = rest.substr(0, rest.find(' '));
        }
    }
    if (!pvh) {
        return fail(Fault::spec,
                    "{} has no PVH entry, so QEMU cannot start it: give the bzImage, or build with CONFIG_PVH=y",
                    path.string());
    }
    return image;
}

Result<KernelImage> inspect_bzimage(std::string_view bytes, const fs::path& path) {
    if (at<std::uint16_t>(bytes, boot_flag_at) != 0xAA55) {
        return fail(Fault::spec, "not a kernel: {} has a damaged bzImage header", path.string());
    }
    if ((at<std::uint16_t>(bytes, load_flags_at).value_or(0) & 1) == 0) {
        return fail(Fault::spec, "{} is a bzImage, but not for x86-64", path.string());
    }
    KernelImage image;
    const std::size_t version = at<std::uint16_t>(bytes, version_string_at).value_or(0) + std::size_t{0x200};
    if (version > 0x200 && version < bytes.size()) {
        const auto text = bytes.substr(version, 128);
        image.release = text.substr(0, text.find_first_of(std::string_view(" \0", 2)));
    }
    return image;
}

}  // namespace

Result<KernelImage> inspect_kernel(const fs::path& path) {
    auto fd = open_file(path, O_RDONLY);
    if (!fd) {
        std::error_code ignored;
        if (!fs::exists(path, ignored)) return fail(Fault::not_found, "no such kernel: {}", path.string());
        return pass(fd);
    }
    struct stat info {};
    if (::fstat(fd->get(), &info) < 0) return fail_errno(errno, "stat " + path.string());
    if (!S_ISREG(info.st_mode)) return fail(Fault::spec, "not a kernel: {} is not a regular file", path.string());
    if (info.st_size == 0) return fail(Fault::spec, "not a kernel: {} is empty", path.string());
    const auto size = static_cast<std::size_t>(info.st_size);
    void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd->get(), 0);
    if (mapped == MAP_FAILED) return fail_errno(errno, "map " + path.string());
    const Mapping mapping(mapped, size);
    const auto bytes = mapping.bytes();
    if (bytes.starts_with(ELFMAG)) return inspect_elf(bytes, path);
    if (bytes.size() > magic_at && bytes.substr(magic_at).starts_with("HdrS")) return inspect_bzimage(bytes, path);
    return fail(Fault::spec, "not a kernel: {} is neither a bzImage nor an ELF file", path.string());
}

Result<std::string> machine_for(const KernelImage& image, std::string_view wanted) {
    const bool elf = image.kind == KernelImage::Kind::vmlinux;
    if (wanted == "q35") return std::string("q35");
    if (wanted == "microvm") {
        if (!elf) return fail(Fault::spec, "a bzImage cannot boot on a microvm: give the vmlinux, or machine: q35");
        std::string missing;
        if (!image.virtio_mmio) missing += " CONFIG_VIRTIO_MMIO CONFIG_VIRTIO_MMIO_CMDLINE_DEVICES";
        if (!image.virtio_console) missing += " CONFIG_VIRTIO_CONSOLE";
        if (missing.empty()) return std::string("microvm");
        return fail(Fault::spec,
                    "the kernel cannot speak on a microvm, it lacks (built in){}: add them, or machine: q35", missing);
    }
    if (wanted != "auto" && !wanted.empty()) {
        return fail(Fault::spec, "unknown machine '{}' (auto, microvm, q35)", wanted);
    }
    return std::string(elf && image.virtio_mmio && image.virtio_console ? "microvm" : "q35");
}

}  // namespace kab
