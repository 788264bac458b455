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

/// Over names and contents, so that other modules make another kernel.
Result<std::string> hash_directory(const fs::path& directory) {
    std::vector<fs::path> files;
    std::error_code error;
    fs::recursive_directory_iterator walk(directory, error);
    for (const fs::recursive_directory_iterator end; !error && walk != end; walk.increment(error)) {
        if (!walk->is_symlink(error) && walk->is_regular_file(error)) files.push_back(walk->path());
    }
    if (error) return fail(Fault::io, "read {}: {}", directory.string(), error.message());
    std::sort(files.begin(), files.end());
    Sha256 hash;
    for (const auto& file : files) {
        auto content = sha256_file(file);
        if (!content) return content;
        hash.field(file.lexically_relative(directory).string()).field(*content);
    }
    return hash.hex();
}

Result<std::string> image_key(const std::string& image_hash, const std::string& modules) {
    Sha256 hash;
    hash.field("kab-image-1").field(image_hash);
    if (!modules.empty()) {
        auto content = hash_directory(modules);
        if (!content) return content;
        hash.field(*content);
    }
    return hash.hex();
}

Result<Built> put(const Frozen& frozen, const Paths& paths, const fs::path& image) {
    auto inspected = inspect_kernel(image);
    if (!inspected) return pass(inspected);
    return publish_image(paths, frozen, image, inspected->kind == KernelImage::Kind::vmlinux ? "vmlinux" : "bzimage");
}

}  // namespace

Result<Frozen> freeze_image(const Request& request, const Paths& paths, const Progress& progress) {
    const std::string& image = request.location;
    std::error_code ignored;
    if (!fs::exists(image, ignored)) return bad(Fault::not_found, image, "no such kernel image");
    if (!request.modules.empty() && !fs::is_directory(request.modules, ignored)) {
        return bad(Fault::not_found, request.modules, "no such directory of modules");
    }
    if (!request.patches.empty() || !request.config.empty()) {
        return bad(Fault::spec, image, "a prebuilt kernel takes no patches and no configuration");
    }
    if (progress) progress("import", 0, 0);
    auto inspected = inspect_kernel(image);
    if (!inspected) return bad(inspected.error().fault, inspected.error().where, inspected.error().message);
    auto hash = sha256_file(image);
    if (!hash) return pass(hash);
    auto key = image_key(*hash, request.modules);
    if (!key) return pass(key);
    Frozen frozen;
    frozen.key = *key;
    frozen.kind = "image";
    frozen.origin = fmt::format("{} (sha256 {})", image, hash->substr(0, 12));
    frozen.release = inspected->release;
    frozen.image = image;
    frozen.modules = request.modules;
    auto cached = find_built(paths, frozen.key);
    if (!cached) return pass(cached);
    if (*cached) return frozen;
    if (auto built = put(frozen, paths, image); !built) return pass(built);
    return frozen;
}

Result<Built> build_image(const Frozen& frozen, const Paths& paths) {
    auto cached = find_built(paths, frozen.key);
    if (!cached) return pass(cached);
    if (*cached) return std::move(**cached);
    auto hash = sha256_file(frozen.image);
    if (!hash) return bad(Fault::build, frozen.image, "source gone: it is neither in the cache nor here any more");
    auto key = image_key(*hash, frozen.modules);
    if (!key) return pass(key);
    if (*key != frozen.key) return bad(Fault::build, frozen.image, "source gone: changed since it was submitted");
    return put(frozen, paths, frozen.image);
}

}  // namespace kab::kernel
