#include "daemon/kernel/source.h"

#include <algorithm>

#include "daemon/kernel/git.h"

namespace kab::kernel {
namespace {

std::string variable(const std::string& makefile, const std::string& name) {
    for (const auto& line : split_lines(makefile)) {
        if (line.rfind(name, 0) != 0) continue;
        const auto equals = line.find_first_not_of(" \t", name.size());
        if (equals == std::string::npos || line[equals] != '=') continue;
        const auto begin = line.find_first_not_of(" \t", equals + 1);
        if (begin == std::string::npos) return {};
        return line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
    }
    return {};
}

Result<BaseSource> resolve_kind(const Request& request, const SourceStore& store, const Progress& progress) {
    if (request.kind == "tarball") return resolve_tarball(request.location, store, progress);
    if (request.kind == "git") return resolve_git(request.location, request.ref, store, progress);
    if (request.kind == "dir") return resolve_directory(request.location, store, progress);
    return fail(Fault::spec, "unknown kind of kernel source '{}' (expected tarball, git, dir or image)", request.kind);
}

/// A repository within a tree is no more than a commit's id there: its files would be missing from the kernel.
Status refuse_gitlinks(const Git& git, const std::string& tree) {
    auto listed = git.text({"ls-tree", "-r", tree});
    if (!listed) return pass(listed);
    std::string_view rest = *listed;
    while (!rest.empty()) {
        const auto line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        if (line.substr(0, 7) != "160000 ") continue;
        return fail(Fault::spec,
                    "{} in it is a git repository of its own, whose files would be missing: remove it, or its .git",
                    line.substr(line.find('\t') + 1));
    }
    return {};
}

}  // namespace

Result<std::string> check_makefile(const std::string& makefile) {
    auto version = kernel_version(makefile);
    if (version.empty()) return fail(Fault::spec, "is no Linux kernel source: no Makefile with VERSION and PATCHLEVEL");
    return version;
}

std::string kernel_version(const std::string& makefile) {
    const std::string version = variable(makefile, "VERSION"), patchlevel = variable(makefile, "PATCHLEVEL");
    if (version.empty() || patchlevel.empty()) return {};
    const std::string sublevel = variable(makefile, "SUBLEVEL");
    return version + "." + patchlevel + (sublevel.empty() ? "" : "." + sublevel) + variable(makefile, "EXTRAVERSION");
}

Result<BaseSource> resolve_source(const Request& request, const SourceStore& store, const Progress& progress) {
    auto source = resolve_kind(request, store, progress);
    const auto placed = [&](Error error) {
        if (error.where.empty()) error.where = without_credentials(request.location);
        return tl::unexpected(error);
    };
    if (!source) return placed(source.error());
    const auto makefile = read_blob(store.git(), source->tree, "Makefile");
    if (!makefile && makefile.error().fault != Fault::not_found) return placed(makefile.error());
    auto release = check_makefile(makefile.value_or(""));
    if (!release) return placed(release.error());
    source->release = *release;
    if (auto whole = refuse_gitlinks(store.git(), source->tree); !whole) return placed(whole.error());
    source->name += " " + source->release;
    const auto details = source->origin.find('(');
    if (details != std::string::npos) source->origin.insert(details + 1, source->release + ", ");
    return source;
}

}  // namespace kab::kernel
