#include <algorithm>

#include "common/digest/sha256.h"
#include "daemon/kernel/image.h"
#include "daemon/kernel/pad.h"
#include "daemon/kernel/patch_set.h"
#include "daemon/kernel/source.h"
#include "daemon/kernel/text/config.h"
#include "daemon/kernel/toolchain.h"
#include "daemon/kernel/work_tree.h"

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

/// `path` as people know it.
std::string shown(const std::string& path, const Request& request) {
    const bool copied = !request.root.empty() && path.rfind(request.root + "/", 0) == 0;
    return copied ? path.substr(request.root.size()) : path;
}

/// Files in one text; what is wrong in them is found now, not when the build starts.
Result<std::string> read_configurations(const std::vector<std::string>& files, const Request& request) {
    std::string text;
    for (const auto& file : files) {
        auto content = read_configuration(file);
        if (!content) return content;
        text += fragment_header(shown(file, request)) + *content;
        if (!text.ends_with('\n')) text += '\n';
    }
    if (auto parsed = parse_fragments(text); !parsed) return pass(parsed);
    return text;
}

/// Where a copy is named, its original is meant.
Error with_original_names(Error error, const std::string& root) {
    for (std::string* text : {&error.message, &error.where}) {
        for (auto at = text->find(root + "/"); at != std::string::npos; at = text->find(root + "/", at))
            text->erase(at, root.size());
    }
    return error;
}

/// Comments and the names of files do not matter, nor what a later line overrides.
Result<std::string> settings_text(const std::string& fragments) {
    auto settings = parse_fragments(fragments);
    if (!settings) return pass(settings);
    return to_config_text(effective_settings(std::move(*settings)));
}

/// What of the base decides the code. No file comes to the same as a name.
Result<std::string> base_text(const std::string& base) {
    if (is_named_base(base)) return base;
    auto settings = settings_text(base);
    if (!settings) return settings;
    return "file\n" + *settings;
}

/// "6.1-tinyconfig": kernels of one version and base differ little, wherever they come from, so they share
/// one work tree; its size on disk is bounded by the number of versions. Those of another kind, `extra`, share another.
Result<std::string> family_of(const std::string& release, const std::string& base, bool extra) {
    const auto minor = release.find('.');
    const auto end = release.find_first_not_of("0123456789", minor + 1);
    std::string version = release.substr(0, end);
    std::replace(version.begin(), version.end(), '/', '-');
    auto text = base_text(base);
    if (!text) return text;
    return version + "-" + (is_named_base(base) ? base : "file-" + sha256_hex(*text).substr(0, 12)) +
           (extra ? "-extra" : "");
}

Result<std::string> key_of(const Frozen& frozen, const std::string& architecture) {
    auto settings = settings_text(frozen.fragments);
    if (!settings) return settings;
    auto base = base_text(frozen.base);
    if (!base) return base;
    return Sha256()
        .field(recipe)
        .field(architecture)
        .field(frozen.tree)
        .field(*base)
        .field(*settings)
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
    auto tree = pad_code(patched->tree, request.pad_bytes, store);
    if (!tree) return pass(tree);
    frozen.origin = source->origin;
    frozen.base_commit = source->commit;
    frozen.release = source->release;
    frozen.tree = *tree;
    frozen.patches = std::move(patched->patches);
    return {};
}

/// A damaged store (a power failure, a bad disk) is cache: it is made anew, once.
Status resolve_tree(const Request& request, const Paths& paths, const Progress& progress, Frozen& frozen) {
    for (bool again = false;; again = true) {
        auto store = SourceStore::open(paths, progress);
        if (!store) return pass(store);
        auto taken = take_source(request, *store, progress, frozen);
        store->sweep();  // at once: what a full disk left half-written takes the room
        if (taken || again || !tells_damage(taken.error().message) || !store->damaged()) return taken;
        if (auto dropped = store->drop(); !dropped) return dropped;
    }
}

Result<Frozen> freeze_source(const Request& request, const Paths& paths, const Progress& progress) {
    if (auto checked = check_place(paths); !checked) return pass(checked);
    Frozen frozen;
    frozen.kind = request.kind;
    auto architecture = find_architecture();
    if (!architecture) return pass(architecture);
    auto toolchain = find_toolchain();
    if (!toolchain) return pass(toolchain);
    frozen.toolchain = *toolchain;
    auto base = is_named_base(request.base) ? request.base : read_configurations({request.base}, request);
    if (!base) return pass(base);
    frozen.base = *base;
    auto files = request.config;
    files.insert(files.end(), request.extra_config.begin(), request.extra_config.end());
    auto fragments = read_configurations(files, request);
    if (!fragments) return pass(fragments);
    frozen.fragments = *fragments;
    if (auto resolved = resolve_tree(request, paths, progress, frozen); !resolved) return pass(resolved);
    auto family = family_of(frozen.release, frozen.base, !request.extra_config.empty());
    if (!family) return pass(family);
    frozen.family = *family;
    auto key = key_of(frozen, *architecture);
    if (!key) return pass(key);
    frozen.key = *key;
    return frozen;
}

}  // namespace

bool is_named_base(const std::string& base) {
    return base == "tinyconfig" || base == "defconfig";
}

Result<Frozen> freeze(const Request& request, const Paths& paths, const Progress& progress) {
    auto frozen =
        request.kind == "image" ? freeze_image(request, paths, progress) : freeze_source(request, paths, progress);
    if (frozen || request.root.empty()) return frozen;
    return tl::unexpected(with_original_names(frozen.error(), request.root));
}

}  // namespace kab::kernel
