#include "daemon/spec/resolve.h"

#include <unistd.h>

#include <algorithm>
#include <set>

#include "common/suggest.h"
#include "daemon/spec/yaml.h"

namespace kab {
namespace {

/// What a path stands for: where it is looked up and what it may be.
struct Role {
    const char* what;
    const char* share;  ///< also looked up in <data>/<share>
    bool file, directory;
};

constexpr Role tarball_role{"tarball", "", true, false};
constexpr Role image_role{"kernel image", "", true, false};
constexpr Role tree_role{"source tree", "", false, true};
constexpr Role git_role{"git repository", "", false, true};
constexpr Role modules_role{"directory of modules", "", false, true};
constexpr Role config_role{"config fragment", "configs/kernel", true, false};
constexpr Role base_role{"base config (tinyconfig, defconfig or a file)", "configs/kernel", true, false};
constexpr Role patch_role{"patch", "patches", true, true};

/// Without "." and "..". What ".." leads to behind a symbolic link only the file system knows: the text alone would
/// name another directory. A path without ".." keeps its name, links and all.
fs::path clean(const fs::path& path) {
    std::error_code error;
    if (std::find(path.begin(), path.end(), "..") == path.end()) return path.lexically_normal();
    auto real = fs::canonical(path, error);
    return error ? path : real;
}

bool leaves_directory(const fs::path& relative) {
    const fs::path normal = relative.lexically_normal();
    return !normal.empty() && *normal.begin() == "..";
}

class Resolver {
  public:
    Resolver(fs::path spec_directory, const Paths& paths, const Places& places)
        : spec_directory_(std::move(spec_directory)), paths_(paths), places_(places) {}

    void resolve_kernel(Arm& arm) {
        arm_ = arm.name;
        KernelSpec& kernel = arm.kernel;
        Source& source = kernel.source;
        switch (source.kind) {
            case Source::Kind::tarball: resolve_path(source.location, tarball_role); break;
            case Source::Kind::dir: resolve_path(source.location, tree_role); break;
            case Source::Kind::image: resolve_path(source.location, image_role); break;
            case Source::Kind::git:
                if (!is_git_url(source.location)) resolve_path(source.location, git_role);
                break;
        }
        if (source.modules) resolve_path(*source.modules, modules_role);
        if (source.kind == Source::Kind::image) return;  // nothing is built
        if (kernel.base != "tinyconfig" && kernel.base != "defconfig") resolve_path(kernel.base, base_role);
        for (std::string& fragment : kernel.config) resolve_path(fragment, config_role);
        for (std::string& patch : kernel.patches) resolve_path(patch, patch_role);
    }

    void resolve_debug(DebugSpec& debug) {
        arm_ = "debug";
        for (std::string& fragment : debug.config) resolve_path(fragment, config_role);
        for (std::string& patch : debug.patches) resolve_path(patch, patch_role);
    }

    std::vector<Error> take_errors() { return std::move(errors_); }

  private:
    void problem(const std::string& written, std::string message) {
        // Arms share most files: each is told once.
        if (!told_.insert(written).second) return;
        const auto place = places_.find(written);
        errors_.push_back(
            {Fault::spec, std::move(message), place != places_.end() ? place->second : fmt::format("arm '{}'", arm_)});
    }

    std::vector<fs::path> candidates(const fs::path& written, const Role& role) const {
        if (written.is_absolute()) return {written};
        std::vector<fs::path> all{spec_directory_ / written};
        for (const fs::path& data : paths_.data) {
            all.push_back(data / written);
            if (*role.share != '\0') all.push_back(data / role.share / written);
        }
        return all;
    }

    void resolve_path(std::string& location, const Role& role) {
        if (location.empty()) return;  // could not be read, which has been told
        const std::string written = location;
        const fs::path path(written);
        if (path.is_relative() && leaves_directory(path)) {
            problem(written, fmt::format("{} {} leaves the directory of the file: write the absolute path", role.what,
                                         yaml::shown(written)));
            return;
        }
        const auto tried = candidates(path, role);
        for (const fs::path& candidate : tried) {
            std::error_code error;
            const fs::file_status status = fs::status(candidate, error);
            if (status.type() == fs::file_type::not_found || status.type() == fs::file_type::none) continue;
            if (accept(candidate, status, written, role)) location = clean(candidate).string();
            return;
        }
        problem(written, not_found(written, tried, role));
    }

    bool accept(const fs::path& found, const fs::file_status& status, const std::string& written, const Role& role) {
        const bool directory = fs::is_directory(status);
        const bool regular = fs::is_regular_file(status);
        if (!(directory && role.directory) && !(regular && role.file)) {
            const char* needed = role.file && role.directory ? "file or directory" : role.file ? "file" : "directory";
            const char* is = directory ? "directory" : regular ? "file" : "device, socket or pipe";
            problem(written, fmt::format("{} {} must be a {}; {} is a {}", role.what, yaml::shown(written), needed,
                                         found.string(), is));
            return false;
        }
        if (::access(found.c_str(), directory ? R_OK | X_OK : R_OK) != 0) {
            problem(written, fmt::format("{} {}: {} cannot be read: {}", role.what, yaml::shown(written),
                                         found.string(), std::generic_category().message(errno)));
            return false;
        }
        return true;
    }

    static std::string not_found(const std::string& written, const std::vector<fs::path>& tried, const Role& role) {
        std::set<std::string> names;
        std::string directories;
        for (const fs::path& candidate : tried) {
            directories += (directories.empty() ? "" : ", ") + candidate.parent_path().lexically_normal().string();
            add_names(candidate.parent_path(), names);
        }
        const std::string near = suggest(fs::path(written).filename().string(), {names.begin(), names.end()});
        const char* hint = written.starts_with("~") ? " ('~' is not expanded: write the absolute path)" : "";
        return fmt::format("{} {} does not exist{}{} (looked in {})", role.what, yaml::shown(written), hint,
                           near.empty() ? "" : fmt::format(", did you mean '{}'?", near), directories);
    }

    /// What is in a directory, for suggestions.
    static void add_names(const fs::path& directory, std::set<std::string>& names) {
        constexpr std::size_t most_names = 2000;
        std::error_code error;
        for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
            names.insert(at->path().filename().string());
            if (names.size() >= most_names) return;
        }
    }

    fs::path spec_directory_;
    const Paths& paths_;
    const Places& places_;
    std::string arm_;
    std::set<std::string> told_;
    std::vector<Error> errors_;
};

}  // namespace

bool is_git_url(std::string_view location) {
    for (const std::string_view scheme : {"https://", "http://", "git://", "ssh://", "git+ssh://", "file://"}) {
        if (location.starts_with(scheme)) return true;
    }
    // git's own rule for "user@host:path": a colon before the first slash.
    const auto colon = location.find(':');
    return colon != std::string_view::npos && colon > 0 && location.find('/') > colon;
}

tl::expected<void, std::vector<Error>> resolve(Experiment& experiment, const fs::path& spec_directory,
                                               const Paths& paths, const Places& places) {
    std::error_code error;
    const fs::path directory = fs::absolute(spec_directory.empty() ? fs::path(".") : spec_directory, error);
    if (error) {
        return tl::unexpected(std::vector<Error>{
            {Fault::io, fmt::format("working directory: {}", error.message()), spec_directory.string()}});
    }
    Resolver resolver(clean(directory), paths, places);
    for (Arm& arm : experiment.arms) resolver.resolve_kernel(arm);
    resolver.resolve_debug(experiment.debug);
    auto errors = resolver.take_errors();
    if (!errors.empty()) return tl::unexpected(std::move(errors));
    return {};
}

}  // namespace kab
