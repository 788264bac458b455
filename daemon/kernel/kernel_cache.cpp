#include "daemon/kernel/kernel_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "common/digest/sha256.h"
#include "daemon/kernel/signature.h"

namespace kab::kernel {
namespace {

/// Above it a vmlinux carries debug information, which no boot needs; symbols stay for profiles.
constexpr std::uintmax_t strip_above = 128U << 20;
/// Free space, in bytes, with which a write that failed has failed for want of it.
constexpr std::uintmax_t full_below = 8U << 20;

Status copy_in(const fs::path& from, const fs::path& to) {
    std::error_code error;
    fs::copy_file(from, to, error);
    if (error) return fail(Fault::io, "copy {} to {}: {}", from.string(), to.string(), error.message());
    fs::permissions(to, fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read | fs::perms::others_read,
                    error);
    return sync_file(to);
}

Status copy_vmlinux(const fs::path& from, const fs::path& to) {
    std::error_code error;
    if (fs::file_size(from, error) <= strip_above) return copy_in(from, to);
    auto stripped = run_process({.program = "strip", .args = {"--strip-debug", "-o", to.string(), from.string()}});
    if (!stripped) return pass(stripped);
    if (stripped->status.ok()) return sync_file(to);
    if (tells_full_disk(stripped->err) || fs::space(to.parent_path(), error).available < full_below)
        return fail(Fault::io, "disk full while writing {}: free some space and run again", to.string());
    return fail(Fault::infra, "strip {}: {}", from.string(), first_complaint(stripped->err));
}

/// A directory beside the kernels, that takes its place when everything is in it.
class Publication {
  public:
    static Result<Publication> start(const Paths& paths, const Frozen& frozen) {
        if (auto made = make_directories(paths.kernels()); !made) return pass(made);
        auto lock = FileLock::take(paths.cache / "kernels.lock");
        if (!lock) return pass(lock);
        sweep(paths.kernels());
        auto directory = TempDir::make(".new-" + frozen.key.substr(0, 12) + "-", paths.kernels());
        if (!directory) return pass(directory);
        // mkdtemp makes it private; kernels are for all who may read the cache.
        if (::chmod(directory->path().c_str(), 0755) != 0)
            return fail_errno(errno, "chmod " + directory->path().string());
        return Publication(std::move(*lock), std::move(*directory), paths.kernels() / frozen.key, frozen);
    }
    fs::path file(const char* name) const { return directory_.path() / name; }
    fs::path final_path(const std::string& name) const { return final_ / name; }

    Result<Built> finish(Built built) {
        const Json document = {{"built", to_json(built)}, {"frozen", to_json(frozen_)}};
        if (auto written = write_file(file("kernel.json"), document.dump(2) + "\n"); !written) return pass(written);
        std::error_code error;
        if (fs::exists(final_, error)) {  // damaged, else it would have been found
            auto old = TempDir::make(".old-", final_.parent_path());
            if (!old) return pass(old);
            fs::rename(final_, old->path() / "kernel", error);
            if (error) return fail(Fault::io, "move {} away: {}", final_.string(), error.message());
        }
        fs::rename(directory_.path(), final_, error);
        if (error) return fail(Fault::io, "rename to {}: {}", final_.string(), error.message());
        directory_.release();
        return built;
    }

  private:
    Publication(FileLock lock, TempDir directory, fs::path final, const Frozen& frozen)
        : lock_(std::move(lock)), directory_(std::move(directory)), final_(std::move(final)), frozen_(frozen) {}
    /// What killed predecessors left.
    static void sweep(const fs::path& kernels) {
        std::error_code ignored;
        for (const auto& entry : fs::directory_iterator(kernels, ignored)) {
            const std::string name = entry.path().filename().string();
            if (name.rfind(".new-", 0) == 0 || name.rfind(".old-", 0) == 0) fs::remove_all(entry.path(), ignored);
        }
    }

    FileLock lock_;
    TempDir directory_;
    fs::path final_;
    const Frozen& frozen_;
};

}  // namespace

Result<std::optional<Built>> find_built(const Paths& paths, const std::string& key) {
    const fs::path file = paths.kernels() / key / "kernel.json";
    std::error_code ignored;
    if (!fs::exists(file, ignored)) return std::nullopt;
    auto text = read_file(file);
    if (!text) return pass(text);
    const auto json = parse_json(*text);
    // Whatever is wrong with it, the kernel can be built again.
    if (!json || !json->contains("built")) return std::nullopt;
    auto built = built_from_json((*json)["built"]);
    if (!built || built->key != key) return std::nullopt;
    const auto hash = sha256_file(built->path);
    if (!hash || *hash != built->image_hash) return std::nullopt;
    built->cached = true;
    built->wall_ns = built->cpu_ns = 0;
    return std::optional<Built>(std::move(*built));
}

Result<Built> publish(const Paths& paths, const Frozen& frozen, const Compiled& compiled, const WorkTree& work_tree) {
    auto publication = Publication::start(paths, frozen);
    if (!publication) return pass(publication);
    if (auto copied = copy_vmlinux(compiled.vmlinux, publication->file("vmlinux")); !copied) return pass(copied);
    const char* image = compiled.format == "vmlinux" ? "vmlinux" : "bzImage";
    if (compiled.image != compiled.vmlinux) {
        if (auto copied = copy_in(compiled.image, publication->file(image)); !copied) return pass(copied);
    }
    if (auto written = write_file(publication->file("config"), compiled.config); !written) return pass(written);
    if (auto copied = copy_in(work_tree.file("build.log"), publication->file("build.log")); !copied)
        return pass(copied);
    auto hash = sha256_file(publication->file(image));
    if (!hash) return pass(hash);
    auto signature = code_signature(publication->file("vmlinux"));
    if (!signature) return pass(signature);
    Built built;
    built.key = frozen.key;
    built.path = publication->final_path(image);
    built.format = compiled.format;
    built.image_hash = *hash;
    built.code_signature = *signature;
    built.config_path = publication->final_path("config");
    built.log_path = publication->final_path("build.log");
    built.compiler = frozen.toolchain.substr(0, frozen.toolchain.find('\n'));
    built.wall_ns = compiled.wall_ns;
    built.cpu_ns = compiled.cpu_ns;
    built.objects = compiled.objects;
    built.warnings = compiled.warnings;
    return publication->finish(std::move(built));
}

Result<Built> publish_image(const Paths& paths, const Frozen& frozen, const std::string& format,
                            const std::function<Status(const std::string& image_hash)>& check) {
    auto publication = Publication::start(paths, frozen);
    if (!publication) return pass(publication);
    const char* name = format == "vmlinux" ? "vmlinux" : "bzImage";
    if (auto copied = copy_in(frozen.image, publication->file(name)); !copied) return pass(copied);
    auto hash = sha256_file(publication->file(name));
    if (!hash) return pass(hash);
    if (auto checked = check(*hash); !checked) return pass(checked);
    auto signature = code_signature(publication->file(name));
    if (!signature) return pass(signature);
    Built built;
    built.key = frozen.key;
    built.path = publication->final_path(name);
    built.format = format;
    built.image_hash = *hash;
    built.code_signature = *signature;
    return publication->finish(std::move(built));
}

}  // namespace kab::kernel
