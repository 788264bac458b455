#include "agent/host/qemu/probe_guest.h"

#include <elf.h>

#include <cstdint>

namespace kab::qemu {
namespace {

constexpr std::uint64_t load_address = 0x100000;
constexpr std::uint64_t code_offset = 0x1000;
constexpr std::uint64_t entry = load_address + code_offset;

// mov $0x10,%al; out %al,$0xf4; hlt; jmp back to the hlt
constexpr unsigned char code[] = {0xB0, 0x10, 0xE6, 0xF4, 0xF4, 0xEB, 0xFD};

struct Note {
    Elf64_Nhdr header{4, 8, 18};  // XEN_ELFNOTE_PHYS32_ENTRY
    char name[4] = {'X', 'e', 'n', '\0'};
    std::uint64_t address = entry;
};

template <class T>
void append(std::string& bytes, const T& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

std::string probe_guest() {
    static_assert(sizeof(Note) == 24);
    constexpr std::uint64_t note_offset = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr);
    Elf64_Ehdr header{};
    for (unsigned i = 0; i < SELFMAG; ++i) header.e_ident[i] = static_cast<unsigned char>(ELFMAG[i]);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_EXEC;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_entry = entry;
    header.e_phoff = sizeof(Elf64_Ehdr);
    header.e_ehsize = sizeof(Elf64_Ehdr);
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 2;
    constexpr std::uint64_t size = code_offset + sizeof code;
    const Elf64_Phdr load{PT_LOAD, PF_R | PF_X, 0, load_address, load_address, size, size, 0x1000};
    const std::uint64_t note_address = load_address + note_offset;
    const Elf64_Phdr notes{PT_NOTE, PF_R, note_offset, note_address, note_address, sizeof(Note), sizeof(Note), 4};

    std::string bytes;
    append(bytes, header);
    append(bytes, load);
    append(bytes, notes);
    append(bytes, Note{});
    bytes.resize(code_offset);
    append(bytes, code);
    return bytes;
}

}  // namespace kab::qemu
