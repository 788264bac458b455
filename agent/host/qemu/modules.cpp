#include "agent/host/qemu/modules.h"

#include <archive.h>
#include <archive_entry.h>
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>

namespace kab::qemu {
namespace {

constexpr std::size_t largest_module = 64U << 20;

/// Modules are named with '_', their files with either.
std::string normalise(std::string name) {
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

/// "virtio_ring" for virtio_ring.ko, virtio-ring.ko.xz, ...; empty for other files.
std::string module_name(const fs::path& file) {
    const std::string name = file.filename().string();
    const auto dot = name.find(".ko");
    if (dot == std::string::npos || dot == 0) return {};
    const std::string rest = name.substr(dot);
    if (rest != ".ko" && rest != ".ko.xz" && rest != ".ko.zst" && rest != ".ko.gz") return {};
    return normalise(name.substr(0, dot));
}

struct Tree {
    std::map<std::string, fs::path> files;  ///< by module name
    std::set<std::string> builtin;
};

/// The one directory under (or at) `directory` that holds a kernel's modules.
Result<fs::path> find_release_directory(const fs::path& directory) {
    std::error_code error;
    if (!fs::exists(directory, error)) return fail(Fault::not_found, "no such modules: {}", directory.string());
    if (!fs::is_directory(directory, error)) {
        return fail(Fault::spec, "modules: {} is not a directory", directory.string());
    }
    if (fs::is_directory(directory / "kernel", error)) return directory;
    for (const char* below : {"lib/modules", "usr/lib/modules", "."}) {
        std::vector<fs::path> found;
        for (const auto& entry : fs::directory_iterator(directory / below, error)) {
            if (fs::is_directory(entry.path() / "kernel", error)) found.push_back(entry.path());
        }
        if (found.size() == 1) return found.front();
        if (found.size() > 1) {
            return fail(Fault::spec, "modules: {} holds the modules of {} kernels; name one of them",
                        (directory / below).lexically_normal().string(), found.size());
        }
    }
    return fail(Fault::spec, "modules: {} holds no kernel modules (expected a directory like /lib/modules/VERSION)",
                directory.string());
}

Result<Tree> read_tree(const fs::path& release) {
    Tree tree;
    try {
        for (const auto& entry : fs::recursive_directory_iterator(release / "kernel")) {
            if (std::string name = module_name(entry.path()); !name.empty()) tree.files.emplace(name, entry.path());
        }
    } catch (const fs::filesystem_error& e) {
        return fail(Fault::io, "modules: {}", e.what());
    }
    std::error_code ignored;
    if (!fs::exists(release / "modules.builtin", ignored)) return tree;
    auto text = read_file(release / "modules.builtin");
    if (!text) return pass(text);
    std::string_view rest = *text;
    while (!rest.empty()) {
        const auto end = rest.find('\n');
        tree.builtin.insert(module_name(fs::path(rest.substr(0, end))));
        rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    }
    return tree;
}

/// The file's content, unpacked if it is compressed.
Result<std::string> read_module(const fs::path& file) {
    const std::unique_ptr<archive, decltype(&archive_read_free)> reader(archive_read_new(), archive_read_free);
    archive* a = reader.get();
    archive_entry* entry = nullptr;
    if (archive_read_support_filter_xz(a) != ARCHIVE_OK || archive_read_support_filter_zstd(a) != ARCHIVE_OK ||
        archive_read_support_filter_gzip(a) != ARCHIVE_OK || archive_read_support_format_raw(a) != ARCHIVE_OK ||
        archive_read_open_filename(a, file.c_str(), 1U << 16) != ARCHIVE_OK ||
        archive_read_next_header(a, &entry) != ARCHIVE_OK) {
        return fail(Fault::io, "read module {}: {}", file.string(), archive_error_string(a));
    }
    std::string bytes;
    char buffer[1U << 16];
    for (;;) {
        const la_ssize_t got = archive_read_data(a, buffer, sizeof buffer);
        if (got < 0) return fail(Fault::io, "unpack module {}: {}", file.string(), archive_error_string(a));
        if (got == 0) return bytes;
        bytes.append(buffer, static_cast<std::size_t>(got));
        if (bytes.size() > largest_module) return fail(Fault::spec, "module {} is too large", file.string());
    }
}

template <class T>
std::optional<T> at(std::string_view bytes, std::uint64_t offset) {
    if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

std::string_view section(std::string_view elf, const Elf64_Shdr& header) {
    if (header.sh_offset > elf.size() || header.sh_size > elf.size() - header.sh_offset) return {};
    return elf.substr(header.sh_offset, header.sh_size);
}

/// The content of .modinfo: "key=value" strings, each ended by '\0'. nullopt if this is no module.
std::optional<std::string_view> modinfo(std::string_view elf) {
    const auto header = at<Elf64_Ehdr>(elf, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
    const auto section_header = [&](unsigned index) {
        return at<Elf64_Shdr>(elf, header->e_shoff + std::uint64_t{index} * sizeof(Elf64_Shdr));
    };
    const auto names_header = section_header(header->e_shstrndx);
    if (!names_header) return std::nullopt;
    const auto names = section(elf, *names_header);
    for (unsigned i = 0; i < header->e_shnum; ++i) {
        const auto candidate = section_header(i);
        if (!candidate || candidate->sh_name >= names.size()) continue;
        const auto name = names.substr(candidate->sh_name);
        if (name.substr(0, name.find('\0')) == ".modinfo") return section(elf, *candidate);
    }
    return std::nullopt;
}

/// Collects modules depth first, so that what is needed comes before what needs it.
class Closure {
  public:
    explicit Closure(const Tree& tree) : tree_(tree) {}

    Status add(const std::string& name, const std::string& wanted_by) {
        if (tree_.builtin.contains(name) || !seen_.insert(name).second) return {};
        const auto file = tree_.files.find(name);
        if (file == tree_.files.end()) {
            return fail(Fault::spec, "modules: {} is missing, wanted by {}", name, wanted_by);
        }
        auto bytes = read_module(file->second);
        if (!bytes) return pass(bytes);
        auto needed = module_dependencies(*bytes, name);
        if (!needed) return pass(needed);
        for (const auto& dependency : *needed) {
            if (auto added = add(dependency, name); !added) return added;
        }
        loaded_.push_back({name + ".ko", std::move(*bytes)});
        return {};
    }
    std::vector<ModuleFile> take() { return std::move(loaded_); }

  private:
    const Tree& tree_;
    std::set<std::string> seen_;
    std::vector<ModuleFile> loaded_;
};

}  // namespace

Result<std::vector<std::string>> module_dependencies(std::string_view elf, const std::string& name) {
    const auto info = modinfo(elf);
    if (!info) return fail(Fault::spec, "modules: {} is not a kernel module", name);
    std::vector<std::string> result;
    constexpr std::string_view key = "depends=";
    std::string_view rest = *info;
    while (!rest.empty()) {
        const auto end = rest.find('\0');
        std::string_view entry = rest.substr(0, end);
        rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
        if (!entry.starts_with(key)) continue;
        entry.remove_prefix(key.size());
        while (!entry.empty()) {
            const auto comma = entry.find(',');
            if (comma != 0) result.push_back(normalise(std::string(entry.substr(0, comma))));
            entry = comma == std::string_view::npos ? std::string_view{} : entry.substr(comma + 1);
        }
    }
    return result;
}

Result<std::vector<ModuleFile>> virtio_modules(const fs::path& directory) {
    auto release = find_release_directory(directory);
    if (!release) return pass(release);
    auto tree = read_tree(*release);
    if (!tree) return pass(tree);
    Closure closure(*tree);
    for (const char* wanted : {"virtio_pci", "virtio_console"}) {
        if (auto added = closure.add(wanted, "kab (the channel to the agent)"); !added) return pass(added);
    }
    return closure.take();
}

}  // namespace kab::qemu
