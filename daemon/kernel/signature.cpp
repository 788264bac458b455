#include "daemon/kernel/signature.h"

#include <archive.h>
#include <archive_entry.h>
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "common/digest/sha256.h"

namespace kab::kernel {
namespace {

constexpr std::uint64_t kernel_limit = 2ULL << 30;  ///< bytes; with debug information they are large

/// A structure at `offset`, if it lies within.
template <class T>
std::optional<T> read_at(std::string_view bytes, std::uint64_t offset) {
    if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

struct Section {
    std::string name;
    Elf64_Shdr header{};
};

Result<std::vector<Section>> read_sections(std::string_view bytes) {
    const auto damaged = [] { return fail(Fault::spec, "the ELF file is damaged or cut off"); };
    const auto elf = read_at<Elf64_Ehdr>(bytes, 0);
    if (!elf || std::memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0) return fail(Fault::spec, "is no ELF file");
    if (elf->e_ident[EI_CLASS] != ELFCLASS64) return fail(Fault::spec, "is no 64-bit ELF file");
    std::vector<Section> sections;
    for (unsigned i = 0; i < elf->e_shnum; ++i) {
        const auto header = read_at<Elf64_Shdr>(bytes, elf->e_shoff + std::uint64_t{i} * elf->e_shentsize);
        if (!header) return damaged();
        const bool in_file = header->sh_type != SHT_NOBITS && header->sh_type != SHT_NULL;
        if (in_file && (header->sh_offset > bytes.size() || bytes.size() - header->sh_offset < header->sh_size)) {
            return damaged();
        }
        sections.push_back({"", *header});
    }
    if (elf->e_shstrndx >= sections.size()) return damaged();
    const auto& names = sections[elf->e_shstrndx].header;
    if (names.sh_type != SHT_STRTAB) return damaged();  // only of what is in the file the place was checked
    const auto table = bytes.substr(names.sh_offset, names.sh_size);
    for (auto& [name, header] : sections) {
        if (header.sh_name >= table.size()) return damaged();
        name = table.substr(header.sh_name, table.substr(header.sh_name).find('\0'));
    }
    return sections;
}

bool is_loaded(const Section& section) {
    const auto& header = section.header;
    const bool note = header.sh_type == SHT_NOTE || section.name.rfind(".note", 0) == 0;
    const bool in_file = header.sh_type != SHT_NOBITS && header.sh_type != SHT_NULL;
    return (header.sh_flags & SHF_ALLOC) != 0 && in_file && !note;
}

void zero(std::string& bytes, std::size_t begin, std::size_t length) {
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(begin), length, '\0');
}

/// Zeroes the C string that begins at `begin`.
void zero_string(std::string& bytes, std::size_t begin) {
    zero(bytes, begin, std::min(bytes.find('\0', begin), bytes.size()) - begin);
}

/// "6.1.192" of a banner, "Linux version 6.1.192 (who) ...", that begins at `at`; empty if it is none.
std::string banner_release(const std::string& bytes, std::size_t at, std::size_t prefix) {
    if (at > 0 && bytes[at - 1] != '\0' && bytes[at - 1] != '\n') return {};
    const auto begin = at + prefix, end = bytes.find(' ', begin);
    if (end == std::string::npos || bytes.compare(end, 2, " (") != 0) return {};
    return bytes.substr(begin, end - begin);
}

/// Zeroes linux_banner and linux_proc_banner; the release that the former names.
std::string zero_banners(std::string& bytes) {
    constexpr std::string_view banner = "Linux version ", proc_banner = "%s version ";
    std::string release;
    for (const auto text : {banner, proc_banner}) {
        for (auto at = bytes.find(text); at != std::string::npos; at = bytes.find(text, at + 1)) {
            const std::string found = banner_release(bytes, at, text.size());
            if (found.empty()) continue;
            if (text == banner && release.empty()) release = found;
            zero_string(bytes, at);
        }
    }
    return release;
}

/// struct new_utsname: sysname, nodename, release, version, machine, domainname.
void zero_utsname(std::string& bytes, const std::string& release) {
    constexpr std::size_t field = 65, fields = 6;
    if (release.empty()) return;
    const std::string system = std::string("Linux") + std::string(field - 5, '\0');
    for (auto at = bytes.find(system); at != std::string::npos; at = bytes.find(system, at + 1)) {
        if (bytes.size() - at < fields * field) return;
        if (bytes.compare(at + 2 * field, release.size() + 1, release + '\0') == 0) zero(bytes, at, fields * field);
    }
}

void zero_embedded_configuration(std::string& bytes) {
    const auto begin = bytes.find("IKCFG_ST");
    const auto end = begin == std::string::npos ? begin : bytes.find("IKCFG_ED", begin);
    if (end != std::string::npos) zero(bytes, begin, end - begin);
}

struct CloseArchive {
    void operator()(archive* handle) const { archive_read_free(handle); }
};

/// gzip, bzip2, xz, lzma, lz4 or zstd.
Result<std::string> decompress(std::string_view bytes) {
    const std::unique_ptr<archive, CloseArchive> handle(archive_read_new());
    archive_read_support_filter_all(handle.get());
    archive_read_support_format_raw(handle.get());
    archive_entry* entry = nullptr;
    if (archive_read_open_memory(handle.get(), bytes.data(), bytes.size()) != ARCHIVE_OK ||
        archive_read_next_header(handle.get(), &entry) != ARCHIVE_OK ||
        archive_filter_code(handle.get(), 0) == ARCHIVE_FILTER_NONE) {
        return fail(Fault::spec, "its compression is not known");
    }
    std::string result;
    std::string block(1U << 20, '\0');
    for (;;) {
        const la_ssize_t got = archive_read_data(handle.get(), block.data(), block.size());
        if (got == 0) return result;
        if (got < 0) return fail(Fault::spec, "cannot be unpacked: {}", archive_error_string(handle.get()));
        result.append(block, 0, static_cast<std::size_t>(got));
        if (result.size() > kernel_limit) return fail(Fault::spec, "unpacks to more than 2 GiB");
    }
}

}  // namespace

Result<std::string> elf_signature(std::string bytes) {
    auto sections = read_sections(bytes);
    if (!sections) return pass(sections);
    std::vector<std::string> contents;
    std::string release;
    std::vector<const Section*> loaded;
    std::uint64_t total = 0;
    for (const auto& section : *sections) {
        if (!is_loaded(section)) continue;
        total += section.header.sh_size;
        if (total > bytes.size()) return fail(Fault::spec, "the ELF file is damaged: its sections overlap");
        loaded.push_back(&section);
        contents.push_back(bytes.substr(section.header.sh_offset, section.header.sh_size));
        const std::string found = zero_banners(contents.back());
        if (release.empty()) release = found;
    }
    if (loaded.empty()) return fail(Fault::spec, "the ELF file has no section to load");
    Sha256 hash;
    for (std::size_t i = 0; i < loaded.size(); ++i) {
        zero_utsname(contents[i], release);
        zero_embedded_configuration(contents[i]);
        const auto& header = loaded[i]->header;
        hash.field(loaded[i]->name)
            .field(fmt::format("{:x} {:x} {:x}", header.sh_addr, header.sh_flags, header.sh_size))
            .field(contents[i]);
    }
    return hash.hex();
}

Result<std::string> unpack_bzimage(std::string_view bytes) {
    // Documentation/x86/boot.rst: "HdrS" at 0x202; protocol 2.08 has the payload's place at 0x248.
    constexpr std::uint64_t magic_at = 0x202, version_at = 0x206, setup_sectors_at = 0x1f1, payload_at = 0x248;
    const auto version = read_at<std::uint16_t>(bytes, version_at);
    if (bytes.substr(0, magic_at + 4).substr(std::min<std::size_t>(bytes.size(), magic_at)) != "HdrS" || !version ||
        *version < 0x208) {
        return fail(Fault::spec, "is no bzImage");
    }
    const auto sectors = read_at<std::uint8_t>(bytes, setup_sectors_at).value_or(0);
    const auto offset = read_at<std::uint32_t>(bytes, payload_at),
               length = read_at<std::uint32_t>(bytes, payload_at + 4);
    const std::uint64_t begin =
        (std::uint64_t{sectors == 0 ? std::uint8_t{4} : sectors} + 1) * 512 + offset.value_or(0);
    if (!offset || !length || begin > bytes.size() || bytes.size() - begin < *length) {
        return fail(Fault::spec, "the bzImage is damaged or cut off");
    }
    const auto payload = bytes.substr(begin, *length);
    // To all but gzip, which has it itself, the kernel's build appends the unpacked size.
    const bool size_appended = payload.substr(0, 2) != "\x1f\x8b";
    return decompress(size_appended ? payload.substr(0, payload.size() - std::min<std::size_t>(payload.size(), 4))
                                    : payload);
}

Result<std::string> code_signature(const fs::path& kernel) {
    auto bytes = read_file(kernel, kernel_limit);
    if (!bytes) return pass(bytes);
    if (bytes->rfind(ELFMAG, 0) == 0) return elf_signature(std::move(*bytes));
    auto unpacked = unpack_bzimage(*bytes);
    if (!unpacked) return sha256_hex(*bytes);
    return elf_signature(std::move(*unpacked));
}

}  // namespace kab::kernel
