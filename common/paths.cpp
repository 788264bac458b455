#include "common/paths.h"

#include <cstdlib>

namespace kab {
namespace {

fs::path from_variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? fs::path(value) : fs::path();
}

/// The first of: KAB_<what>_DIR; $XDG_<what>_HOME/kab; $HOME/<fallback>/kab.
Result<fs::path> choose(const char* own, const char* xdg, const char* fallback) {
    if (auto path = from_variable(own); !path.empty()) return fs::absolute(path);
    // The XDG base directory specification: relative paths are invalid and must be ignored.
    if (auto path = from_variable(xdg); path.is_absolute()) return path / "kab";
    if (auto home = from_variable("HOME"); home.is_absolute()) return home / fallback / "kab";
    return fail(Fault::usage, "neither {}, {} nor HOME is set: nowhere to keep things", own, xdg);
}

fs::path own_directory() {
    std::error_code error;
    return fs::read_symlink("/proc/self/exe", error).parent_path();
}

}  // namespace

Result<Paths> Paths::from_environment() {
    auto state = choose("KAB_STATE_DIR", "XDG_STATE_HOME", ".local/state");
    if (!state) return pass(state);
    auto cache = choose("KAB_CACHE_DIR", "XDG_CACHE_HOME", ".cache");
    if (!cache) return pass(cache);
    Paths paths;
    paths.state = *state;
    paths.cache = *cache;
    if (auto data = from_variable("KAB_DATA_DIR"); !data.empty()) paths.data.push_back(fs::absolute(data));
    // A program of the build tree finds the source tree; an installed one its prefix.
    std::error_code ignored;
    const auto installed = own_directory().parent_path() / "share/kab";
    if (fs::exists(installed, ignored)) paths.data.push_back(installed);
    if (fs::exists(fs::path(KAB_SOURCE_DIR) / "configs", ignored)) paths.data.emplace_back(KAB_SOURCE_DIR);
    const auto prefix = fs::path(KAB_INSTALL_PREFIX) / "share/kab";
    if (prefix != installed && fs::exists(prefix, ignored)) paths.data.push_back(prefix);
    return paths;
}

Result<fs::path> find_program(const std::string& name) {
    std::vector<fs::path> tried;
    if (auto configured = from_variable("KAB_LIBEXEC_DIR"); !configured.empty()) tried.push_back(configured / name);
    const auto own = own_directory();
    tried.push_back(own / name);
    tried.push_back(own.parent_path() / "libexec/kab" / name);
    tried.push_back(own.parent_path().parent_path() / "bin" / name);
    std::string text;
    for (const auto& path : tried) {
        std::error_code ignored;
        if (fs::is_regular_file(path, ignored)) return path;
        text += (text.empty() ? "" : ", ") + path.string();
    }
    return fail(Fault::infra, "program {} not found (tried {}); is kab installed completely?", name, text);
}

Result<fs::path> find_data(const Paths& paths, const fs::path& relative) {
    std::string tried;
    for (const auto& directory : paths.data) {
        std::error_code ignored;
        if (fs::exists(directory / relative, ignored)) return directory / relative;
        tried += (tried.empty() ? "" : ", ") + directory.string();
    }
    return fail(Fault::not_found, "{} not found in {}", relative.string(),
                tried.empty() ? "(no share directory)" : tried);
}

}  // namespace kab
