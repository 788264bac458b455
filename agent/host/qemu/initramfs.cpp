#include "agent/host/qemu/initramfs.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <memory>

#include "common/digest/sha256.h"

namespace kab::qemu {
namespace {

/// Files owned by root with time 0: the same input gives the same bytes.
class Cpio {
  public:
    explicit Cpio(fs::path path) : path_(std::move(path)), archive_(archive_write_new(), archive_write_free) {}

    Status open() {
        archive* a = archive_.get();
        if (archive_write_set_format_cpio_newc(a) != ARCHIVE_OK || archive_write_add_filter_none(a) != ARCHIVE_OK ||
            archive_write_open_filename(a, path_.c_str()) != ARCHIVE_OK) {
            return error();
        }
        return {};
    }
    Status directory(const char* name) { return add(name, S_IFDIR | 0755, {}, 0); }
    Status character_device(const char* name, dev_t device) { return add(name, S_IFCHR | 0600, {}, device); }
    Status file(const std::string& name, mode_t mode, std::string_view bytes) {
        return add(name, S_IFREG | mode, bytes, 0);
    }
    Status symlink(const std::string& name, const char* target) { return add(name, S_IFLNK | 0777, {}, 0, target); }
    Status close() {
        if (archive_write_close(archive_.get()) != ARCHIVE_OK) return error();
        return {};
    }

  private:
    Status add(const std::string& name, mode_t mode, std::string_view bytes, dev_t device,
               const char* target = nullptr) {
        const std::unique_ptr<archive_entry, decltype(&archive_entry_free)> entry(archive_entry_new(),
                                                                                  archive_entry_free);
        archive_entry_set_pathname(entry.get(), name.c_str());
        archive_entry_set_mode(entry.get(), mode);
        archive_entry_set_size(entry.get(), static_cast<la_int64_t>(bytes.size()));
        archive_entry_set_ino64(entry.get(), ++inode_);
        archive_entry_set_nlink(entry.get(), 1);
        archive_entry_set_mtime(entry.get(), 0, 0);
        if (device != 0) archive_entry_set_rdev(entry.get(), device);
        if (target != nullptr) archive_entry_set_symlink(entry.get(), target);
        if (archive_write_header(archive_.get(), entry.get()) != ARCHIVE_OK) return error();
        if (bytes.empty()) return {};
        const la_ssize_t written = archive_write_data(archive_.get(), bytes.data(), bytes.size());
        if (written != static_cast<la_ssize_t>(bytes.size())) return error();
        return {};
    }
    Status error() const {
        const char* text = archive_error_string(archive_.get());
        return fail(Fault::io, "write initramfs {}: {}", path_.string(), text != nullptr ? text : "unknown error");
    }

    fs::path path_;
    std::unique_ptr<archive, decltype(&archive_write_free)> archive_;
    std::int64_t inode_ = 0;
};

Status write_content(Cpio& cpio, std::string_view agent, const std::vector<ModuleFile>& modules,
                     std::string_view plan) {
    for (const char* name : {"dev", "proc", "sys", "tmp", "kab", "kab/modules"}) {
        if (auto added = cpio.directory(name); !added) return added;
    }
    if (auto added = cpio.character_device("dev/console", makedev(5, 1)); !added) return added;
    if (auto added = cpio.file("init", 0755, agent); !added) return added;
    if (!plan.empty())
        if (auto added = cpio.file("kab/plan", 0644, plan); !added) return added;
    std::string order;
    for (const auto& module : modules) {
        if (auto added = cpio.file("kab/modules/" + module.name, 0644, module.bytes); !added) return added;
        order += module.name + "\n";
    }
    return cpio.file("kab/modules/load", 0644, order);
}

/// busybox is what it is called as.
Status add_shell(Cpio& cpio, std::string_view busybox) {
    if (auto added = cpio.directory("bin"); !added) return added;
    if (auto added = cpio.file("bin/busybox", 0755, busybox); !added) return added;
    for (const std::string name : {"sh", "sort", "od", "grep", "tee", "wc", "rm"}) {
        if (auto added = cpio.symlink("bin/" + name, "busybox"); !added) return added;
    }
    return {};
}

}  // namespace

Result<PackedPrograms> write_initramfs(const fs::path& path, const fs::path& agent,
                                       const std::vector<ModuleFile>& modules, std::string_view plan,
                                       const fs::path& busybox) {
    auto program = read_file(agent);
    if (!program) return pass(program);
    PackedPrograms packed{sha256_hex(*program), {}};
    Cpio cpio(path);
    if (auto opened = cpio.open(); !opened) return pass(opened);
    if (auto written = write_content(cpio, *program, modules, plan); !written) return pass(written);
    if (!busybox.empty()) {
        auto shell = read_file(busybox);
        if (!shell) return pass(shell);
        packed.shell = sha256_hex(*shell);
        if (auto added = add_shell(cpio, *shell); !added) return pass(added);
    }
    if (auto closed = cpio.close(); !closed) return pass(closed);
    return packed;
}

}  // namespace kab::qemu
