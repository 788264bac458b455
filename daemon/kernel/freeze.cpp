#include <algorithm>

#include "common/digest/sha256.h"
#include "daemon/kernel/config.h"
#include "daemon/kernel/image.h"
#include "daemon/kernel/patch_set.h"
#include "daemon/kernel/source.h"
#include "daemon/kernel/toolchain.h"

namespace kab::kernel {
namespace {

constexpr std::uint64_t fragment_limit = 16U << 20;

Result<std::string> read_configuration(const std::string& path) {
    std::error_code ignored;
    if (!fs::exists(path, ignored)) {
        return tl::unexpected(Error{Fault::not_found, "no such configuration file", path});
    }
    return read_file(path, fragment_limit);
}

Result<std::string> read_base(const std::string& base) {
    if (base == "tinyconfig" || base == "defconfig") return base;
    return read_configuration(base);
}

/// All fragments in one text; what is wrong in them is found now, not when the build starts.
Result<std::string> read_fragments(const std::vector<std::string>& files) {
    std::string text;
    for (const auto& file : files) {
        auto fragment = read_configuration(file);
        if (!fragment) return fragment;
        text += fragment_header(file) + *fragment;
        if (!text.ends_with('\n')) text += '\n';
    }
    if (auto parsed = parse_fragments(text); !parsed) return pass(parsed);
    return text;
}

/// "6.1-tinyconfig": kernels of one version and base differ little, wherever they come from, so they share
/// one work tree; its size on disk is bounded by the number of versions.
std::string family_of(const std::string& release, const std::string& base) {
    const auto minor = release.find('.');
    const auto end = release.find_first_not_of("0123456789", minor + 1);
    std::string version = release.substr(0, end);
    std::replace(version.begin(), version.end(), '/', '-');
    const bool named = base == "tinyconfig" || base == "defconfig";
    return version + "-" + (named ? base : "file-" + sha256_hex(base).substr(0, 12));
}

/// Comments and the names of fragments do not matter, nor what a later fragment overrides.
Result<std::string> key_of(const Frozen& frozen, const std::string& architecture) {
    auto settings = parse_fragments(frozen.fragments);
    if (!settings) return pass(settings);
    return Sha256()
        .field(recipe)
        .field(architecture)
        .field(frozen.tree)
        .field(frozen.base)
        .field(to_config_text(effective_settings(std::move(*settings))))
        .field(frozen.toolchain)
        .hex();
}

Status take_source(const Request& request, const SourceStore& store, const Progress& progress, Frozen& frozen) {
    auto source = resolve_source(request, store, progress);
    if (!source) return pass(source);
    auto patches = load_patches(request.patches, store);
    if (!patches) return pass(patches);
    auto patched = apply_patches(*patches, source->tree, source->name, store, progress);
    if (!patched) return pass(patched);
    frozen.origin = source->origin;
    frozen.base_commit = source->commit;
    frozen.release = source->release;
    frozen.tree = patched->tree;
    frozen.patches = std::move(patched->patches);
    return {};
}

Status resolve_tree(const Request& request, const Paths& paths, const Progress& progress, Frozen& frozen) {
    auto store = SourceStore::open(paths, progress);
    if (!store) return pass(store);
    auto taken = take_source(request, *store, progress, frozen);
    store->sweep();  // at once: what a full disk left half-written takes the room
    return taken;
}

}  // namespace

Result<Frozen> freeze(const Request& request, const Paths& paths, const Progress& progress) {
    if (request.kind == "image") return freeze_image(request, paths, progress);
    Frozen frozen;
    frozen.kind = request.kind;
    auto architecture = find_architecture();
    if (!architecture) return pass(architecture);
    auto toolchain = find_toolchain();
    if (!toolchain) return pass(toolchain);
    frozen.toolchain = *toolchain;
    auto base = read_base(request.base);
    if (!base) return pass(base);
    frozen.base = *base;
    auto fragments = read_fragments(request.config);
    if (!fragments) return pass(fragments);
    frozen.fragments = *fragments;
    if (auto resolved = resolve_tree(request, paths, progress, frozen); !resolved) return pass(resolved);
    frozen.family = family_of(frozen.release, frozen.base);
    auto key = key_of(frozen, *architecture);
    if (!key) return pass(key);
    frozen.key = *key;
    return frozen;
}

}  // namespace kab::kernel
