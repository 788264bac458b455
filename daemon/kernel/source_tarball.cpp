// Tarballs: read by libarchive, written as a tree, remembered by the SHA-256 of the file.
#include <archive.h>
#include <archive_entry.h>

#include <memory>

#include "common/digest/sha256.h"
#include "daemon/kernel/source.h"
#include "daemon/kernel/tree_writer.h"

namespace kab::kernel {
namespace {

constexpr std::size_t block_size = 1U << 20;

struct CloseArchive {
    void operator()(archive* handle) const { archive_read_free(handle); }
};
using Archive = std::unique_ptr<archive, CloseArchive>;

tl::unexpected<Error> archive_error(const Archive& handle, const char* what) {
    const char* reason = archive_error_string(handle.get());
    return fail(Fault::spec, "{}: {}", what, reason != nullptr ? reason : "unknown error");
}

Result<Archive> open_archive(const std::string& path) {
    Archive handle(archive_read_new());
    archive_read_support_filter_all(handle.get());
    archive_read_support_format_tar(handle.get());
    if (archive_read_open_filename(handle.get(), path.c_str(), block_size) != ARCHIVE_OK) {
        return archive_error(handle, "is no tar archive");
    }
    return handle;
}

Status copy_data(const Archive& handle, std::uint64_t size, TreeWriter& writer) {
    const void* block = nullptr;
    std::size_t length = 0;
    la_int64_t offset = 0;
    std::uint64_t copied = 0;
    for (;;) {
        const int got = archive_read_data_block(handle.get(), &block, &length, &offset);
        if (got == ARCHIVE_EOF) break;
        if (got != ARCHIVE_OK) return archive_error(handle, "is damaged or cut off");
        if (static_cast<std::uint64_t>(offset) != copied) return fail(Fault::spec, "holds a sparse file");
        if (auto put = writer.data({static_cast<const char*>(block), length}); !put) return put;
        copied += length;
    }
    if (copied != size) return fail(Fault::spec, "is damaged or cut off");
    return {};
}

Status copy_entry(const Archive& handle, archive_entry* entry, TreeWriter& writer) {
    const char* path = archive_entry_pathname(entry);
    if (path == nullptr) return fail(Fault::spec, "holds a file without a name");
    if (const char* source = archive_entry_hardlink(entry)) return writer.copy(source, path);
    const char* target = archive_entry_symlink(entry);
    switch (archive_entry_filetype(entry)) {
        case AE_IFDIR: return {};
        case AE_IFLNK: return writer.add(path, TreeWriter::Mode::symlink, target != nullptr ? target : "");
        case AE_IFREG: break;
        default: return fail(Fault::spec, "holds a device or socket: {}", path);
    }
    const auto mode = (archive_entry_perm(entry) & 0100) != 0 ? TreeWriter::Mode::executable : TreeWriter::Mode::file;
    const auto size = static_cast<std::uint64_t>(archive_entry_size(entry));
    if (auto begun = writer.begin(path, mode, size); !begun) return begun;
    return copy_data(handle, size, writer);
}

/// Progress in MiB of the compressed file.
Result<std::string> import_tarball(const std::string& path, const SourceStore& store, const Progress& progress) {
    auto handle = open_archive(path);
    if (!handle) return pass(handle);
    std::error_code ignored;
    const auto total = static_cast<std::int64_t>(fs::file_size(path, ignored) >> 20);
    auto writer = TreeWriter::start(store);
    if (!writer) return pass(writer);
    std::int64_t shown = -1;
    for (;;) {
        archive_entry* entry = nullptr;
        const int got = archive_read_next_header(handle->get(), &entry);
        if (got == ARCHIVE_EOF) break;
        if (got != ARCHIVE_OK && got != ARCHIVE_WARN) {
            return archive_error(*handle, shown < 0 ? "is no tar archive" : "is damaged or cut off");
        }
        if (auto copied = copy_entry(*handle, entry, *writer); !copied) return pass(copied);
        const std::int64_t done = archive_filter_bytes(handle->get(), -1) >> 20;
        if (done != shown && progress) progress("import", done, total);
        shown = done;
    }
    if (shown < 0) return fail(Fault::spec, "is an empty archive");
    return writer->finish();
}

std::string stem(const fs::path& path) {
    std::string name = path.filename().string();
    const auto tar = name.rfind(".tar");
    return tar == std::string::npos || tar == 0 ? name : name.substr(0, tar);
}

}  // namespace

Result<BaseSource> resolve_tarball(const std::string& path, const SourceStore& store, const Progress& progress) {
    std::error_code error;
    if (!fs::exists(path, error)) return fail(Fault::not_found, "no such tarball");
    if (!fs::is_regular_file(path, error)) return fail(Fault::spec, "is no file (for a directory use dir:)");
    auto hash = sha256_file(path);
    if (!hash) return pass(hash);
    const std::string ref = "refs/kab/tarball/" + *hash;
    auto known = store.find(ref);
    if (!known) return pass(known);
    BaseSource source;
    if (*known) {
        source.tree = **known;
    } else {
        auto machine = take_machine("importing " + path, progress);
        if (!machine) return pass(machine);
        auto tree = import_tarball(path, store, progress);
        if (!tree) return pass(tree);
        auto now = sha256_file(path);
        if (!now) return pass(now);
        if (*now != *hash) return fail(Fault::spec, "changed while being read: run again when it is complete");
        if (auto set = store.set(ref, *tree); !set) return pass(set);
        source.tree = *tree;
    }
    source.name = stem(path);
    source.origin = fmt::format("{} (sha256 {})", fs::path(path).filename().string(), hash->substr(0, 12));
    return source;
}

}  // namespace kab::kernel
