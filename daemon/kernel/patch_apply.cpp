#include "daemon/kernel/patch_set.h"

namespace kab::kernel {
namespace {

/// What `git apply` said, in one line that a person can act on.
std::string explain(const std::string& complaint, const std::string& base_name) {
    const auto ends_with = [&](std::string_view end) { return complaint.ends_with(end); };
    constexpr std::string_view failed = "patch failed: ", missing = ": does not exist in index",
                               exists = ": already exists in index";
    if (complaint.rfind(failed, 0) == 0) {
        return fmt::format("hunk at {} does not apply to {}", complaint.substr(failed.size()), base_name);
    }
    if (ends_with(missing)) {
        return fmt::format("changes {}, which {} does not have", complaint.substr(0, complaint.size() - missing.size()),
                           base_name);
    }
    if (ends_with(exists)) {
        return fmt::format("adds {}, which {} already has", complaint.substr(0, complaint.size() - exists.size()),
                           base_name);
    }
    if (complaint.rfind("corrupt patch", 0) == 0) return "is damaged or cut off (" + complaint + ")";
    return fmt::format("does not apply to {}: {}", base_name, complaint);
}

std::vector<std::string> apply_command(const Patch& patch) {
    return {"apply", "--cached", "--whitespace=nowarn", "-p" + std::to_string(patch.strip)};
}

Status apply(const Patch& patch, const Git& git, const std::string& base_name) {
    auto applied = git.run(apply_command(patch), patch.text);
    if (!applied) return pass(applied);
    if (applied->status.ok()) return {};
    if (tells_full_disk(applied->err)) return fail(Fault::io, "disk full while applying {}", patch.name);
    if (tells_damage(applied->err) && applied->err.find("corrupt patch") == std::string::npos)
        return fail(Fault::infra, "git apply: {}", first_complaint(applied->err));
    std::string message = explain(first_complaint(applied->err), base_name);
    auto backwards = apply_command(patch);
    backwards.insert(backwards.end(), {"--check", "--reverse"});
    auto already = git.run(backwards, patch.text);
    if (!already) return pass(already);
    if (already->status.ok()) message += " (it is applied there already)";
    return tl::unexpected(Error{Fault::spec, message, patch.name});
}

Result<PatchInfo> describe(const Patch& patch, const Git& git) {
    auto id = git.text({"patch-id", "--stable"}, patch.text);
    if (!id) return pass(id);
    return PatchInfo{patch.name, patch.subject, id->substr(0, id->find(' '))};
}

}  // namespace

Result<Patched> apply_patches(const std::vector<Patch>& patches, const std::string& tree, const std::string& base_name,
                              const SourceStore& store, const Progress& progress) {
    Patched result{tree, {}};
    if (patches.empty()) return result;
    Git git = store.git();
    git.index = store.scratch() / "patch-index";
    if (auto read = git.text({"read-tree", tree}); !read) return pass(read);
    std::string onto = base_name;
    for (const auto& patch : patches) {
        if (progress) {
            progress("patch", static_cast<std::int64_t>(result.patches.size()),
                     static_cast<std::int64_t>(patches.size()));
        }
        if (auto applied = apply(patch, git, onto); !applied) return pass(applied);
        auto info = describe(patch, git);
        if (!info) return pass(info);
        result.patches.push_back(std::move(*info));
        onto = base_name + " with the patches before it";
    }
    auto written = git.text({"write-tree"});
    if (!written) return pass(written);
    result.tree = *written;
    if (auto kept = store.keep(result.tree); !kept) return pass(kept);
    return result;
}

}  // namespace kab::kernel
