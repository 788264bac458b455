#include "daemon/kernel/source.h"

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

}  // namespace

std::string kernel_version(const std::string& makefile) {
    const std::string version = variable(makefile, "VERSION"), patchlevel = variable(makefile, "PATCHLEVEL");
    if (version.empty() || patchlevel.empty()) return {};
    const std::string sublevel = variable(makefile, "SUBLEVEL");
    return version + "." + patchlevel + (sublevel.empty() ? "" : "." + sublevel) + variable(makefile, "EXTRAVERSION");
}

Result<BaseSource> resolve_source(const Request& request, const SourceStore& store, const Progress& progress) {
    auto source = resolve_kind(request, store, progress);
    if (!source) {
        Error error = source.error();
        if (error.where.empty()) error.where = without_credentials(request.location);
        return tl::unexpected(error);
    }
    const auto makefile = read_blob(store.git(), source->tree, "Makefile");
    source->release = makefile ? kernel_version(*makefile) : "";
    if (source->release.empty()) {
        return tl::unexpected(
            Error{Fault::spec, "is no Linux kernel source: no Makefile with VERSION and PATCHLEVEL", request.location});
    }
    source->name += " " + source->release;
    const auto details = source->origin.find('(');
    if (details != std::string::npos) source->origin.insert(details + 1, source->release + ", ");
    return source;
}

}  // namespace kab::kernel
