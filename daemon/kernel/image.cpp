#include "daemon/kernel/image.h"

#include <algorithm>

#include "common/digest/sha256.h"
#include "common/kernel_image.h"
#include "daemon/kernel/kernel_cache.h"

namespace kab::kernel {
namespace {

tl::unexpected<Error> bad(Fault fault, const std::string& where, std::string message) {
    return tl::unexpected(Error{fault, std::move(message), where});
}

/// A module, packed or not, or one of depmod's lists.
bool is_of_modules(const std::string& name) {
    const bool module = name.ends_with(".ko") || name.find(".ko.") != std::string::npos;
    return module || name.rfind("modules.", 0) == 0;
}

/// What of a directory of modules is taken, relative to it and sorted: files, and links that lead to files.
Result<std::vector<fs::path>> list_modules(const fs::path& directory) {
    std::vector<fs::path> files;
    std::error_code error;
    fs::recursive_directory_iterator walk(directory, error);
    for (const fs::recursive_directory_iterator end; !error && walk != end; walk.increment(error)) {
        std::error_code dangling;
        if (!is_of_modules(walk->path().filename().string()) || !walk->is_regular_file(dangling)) continue;
        files.push_back(walk->path().lexically_relative(directory));
    }
    if (error) return fail(Fault::io, "read {}: {}", directory.string(), error.message());
    if (files.empty()) {
        return bad(Fault::spec, directory.string(),
                   "holds no kernel modules (expected a directory like /lib/modules/VERSION)");
    }
    std::sort(files.begin(), files.end());
    return files;
}

/// Over names and contents, so that other modules make another kernel. Empty for no modules.
Result<std::string> hash_modules(const fs::path& directory) {
    if (directory.empty()) return std::string();
    auto files = list_modules(directory);
    if (!files) return pass(files);
    Sha256 hash;
    for (const auto& file : *files) {
        auto content = sha256_file(directory / file);
        if (!content) return content;
        hash.field(file.string()).field(*content);
    }
    return hash.hex();
}

Status copy_modules(const fs::path& from, const fs::path& to) {
    auto files = list_modules(from);
    if (!files) return pass(files);
    for (const auto& file : *files) {
        if (auto made = make_directories((to / file).parent_path()); !made) return made;
        std::error_code error;
        fs::copy_file(from / file, to / file, error);
        if (error) return fail(Fault::io, "copy {} to {}: {}", (from / file).string(), to.string(), error.message());
    }
    return {};
}

tl::unexpected<Error> changed(const fs::path& what) {
    return bad(Fault::spec, what.string(), "changed while being read: run again when it is complete");
}

/// Copies what frozen.modules_from holds to frozen.modules, which ends in its hash; whole or not there.
Status put_modules(const Frozen& frozen) {
    const fs::path target = frozen.modules;
    if (auto made = make_directories(target.parent_path()); !made) return made;
    auto lock = FileLock::take(target.parent_path() / "lock");
    if (!lock) return pass(lock);
    if (hash_modules(target).value_or("") == target.filename()) return {};
    auto directory = TempDir::make(".new-", target.parent_path());
    if (!directory) return pass(directory);
    const fs::path copy = directory->path() / "copy";
    if (auto copied = copy_modules(frozen.modules_from, copy); !copied) return copied;
    auto hash = hash_modules(copy);
    if (!hash) return pass(hash);
    if (*hash != target.filename()) return changed(frozen.modules_from);
    std::error_code error;
    if (fs::exists(target, error)) fs::rename(target, directory->path() / "damaged", error);
    if (!error) fs::rename(copy, target, error);
    if (error) return fail(Fault::io, "move {} to {}: {}", copy.string(), target.string(), error.message());
    return {};
}

std::string image_key(const std::string& image_hash, const fs::path& modules) {
    Sha256 hash;
    hash.field("kab-image-1").field(image_hash);
    if (!modules.empty()) hash.field(modules.filename().string());
    return hash.hex();
}

/// Copies into the cache, then looks whether what came there is what the key stands for.
Result<Built> put(const Frozen& frozen, const Paths& paths) {
    auto inspected = inspect_kernel(frozen.image);
    if (!inspected) return pass(inspected);
    if (!frozen.modules.empty()) {
        if (auto done = put_modules(frozen); !done) return pass(done);
    }
    const char* format = inspected->kind == KernelImage::Kind::vmlinux ? "vmlinux" : "bzimage";
    return publish_image(paths, frozen, format, [&](const std::string& image_hash) -> Status {
        if (image_key(image_hash, frozen.modules) == frozen.key) return {};
        return changed(frozen.image);
    });
}

/// As find_built, the modules included.
Result<std::optional<Built>> find_image(const Frozen& frozen, const Paths& paths) {
    const fs::path modules = frozen.modules;
    if (!modules.empty() && hash_modules(modules).value_or("") != modules.filename()) return std::nullopt;
    return find_built(paths, frozen.key);
}

}  // namespace

Result<Frozen> freeze_image(const Request& request, const Paths& paths, const Progress& progress) {
    const std::string& image = request.location;
    std::error_code ignored;
    if (!fs::exists(image, ignored)) return bad(Fault::not_found, image, "no such kernel image");
    if (!request.modules.empty() && !fs::is_directory(request.modules, ignored)) {
        return bad(Fault::not_found, request.modules, "no such directory of modules");
    }
    if (!request.patches.empty() || !request.config.empty() || !request.extra_config.empty()) {
        return bad(Fault::spec, image, "a prebuilt kernel takes no patches and no configuration");
    }
    if (request.pad_bytes != 0) return bad(Fault::spec, image, "a prebuilt kernel's code cannot be moved");
    if (progress) progress("import", 0, 0);
    auto inspected = inspect_kernel(image);
    if (!inspected) return bad(inspected.error().fault, inspected.error().where, inspected.error().message);
    auto hash = sha256_file(image);
    if (!hash) return pass(hash);
    auto modules = hash_modules(request.modules);
    if (!modules) return pass(modules);
    Frozen frozen;
    if (!modules->empty()) frozen.modules = paths.cache / "modules" / *modules;
    frozen.key = image_key(*hash, frozen.modules);
    frozen.kind = "image";
    frozen.origin = fmt::format("{} (sha256 {})", image, hash->substr(0, 12));
    frozen.release = inspected->release;
    frozen.image = image;
    frozen.modules_from = request.modules;
    auto cached = find_image(frozen, paths);
    if (!cached) return pass(cached);
    if (*cached) return frozen;
    if (auto built = put(frozen, paths); !built) return pass(built);
    return frozen;
}

Result<Built> build_image(const Frozen& frozen, const Paths& paths) {
    auto cached = find_image(frozen, paths);
    if (!cached) return pass(cached);
    if (*cached) return std::move(**cached);
    std::error_code ignored;
    for (const fs::path& source : {fs::path(frozen.image), fs::path(frozen.modules_from)}) {
        if (!source.empty() && !fs::exists(source, ignored))
            return bad(Fault::build, source.string(), "source gone: it is neither in the cache nor here any more");
    }
    auto built = put(frozen, paths);
    if (built || built.error().fault != Fault::spec) return built;
    return bad(Fault::build, built.error().where, "source gone: not what it was when it was submitted any more");
}

}  // namespace kab::kernel
