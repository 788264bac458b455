// What kbuild's records in an O= directory tell: .NAME.cmd is written after NAME was made, and holds all files
// and configuration symbols that NAME depends on.
#include <chrono>
#include <unordered_set>

#include "daemon/kernel/work_tree.h"

namespace kab::kernel {
namespace {

using namespace std::chrono_literals;
using FileTime = fs::file_time_type;

/// Longer than any one file takes to be written, except by the linker, whose targets have records.
constexpr auto last_moments = 10s;

bool is_record(const std::string& name) {
    return name.size() > 5 && name.front() == '.' && name.ends_with(".cmd");
}

struct OutputFile {
    fs::path path;
    FileTime time;
};

Result<std::vector<OutputFile>> list(const fs::path& output) {
    std::vector<OutputFile> files;
    std::error_code error;
    if (!fs::exists(output, error)) return files;
    fs::recursive_directory_iterator walk(output, error);
    for (const fs::recursive_directory_iterator end; !error && walk != end; walk.increment(error)) {
        if (walk->is_symlink(error) || !walk->is_regular_file(error)) continue;
        const auto time = walk->last_write_time(error);
        if (!error) files.push_back({walk->path(), time});
    }
    if (error) return fail(Fault::io, "read {}: {}", output.string(), error.message());
    return files;
}

bool depends(const std::string& record, const std::unordered_set<std::string>& names) {
    constexpr std::string_view white = " \t\n\\()";
    std::size_t begin = record.find("\ndeps_");
    while (begin != std::string::npos && begin < record.size()) {
        begin = record.find_first_not_of(white, begin);
        if (begin == std::string::npos) break;
        auto end = record.find_first_of(white, begin);
        if (end == std::string::npos) end = record.size();
        if (names.contains(record.substr(begin, end - begin))) return true;
        begin = end;
    }
    return false;
}

}  // namespace

Status heal_output(const fs::path& output) {
    auto files = list(output);
    if (!files) return pass(files);
    FileTime newest = FileTime::min();
    for (const auto& file : *files) newest = std::max(newest, file.time);
    for (const auto& [path, time] : *files) {
        std::error_code error;
        const auto recorded =
            fs::last_write_time(path.parent_path() / ("." + path.filename().string() + ".cmd"), error);
        const bool newer_than_record = !error && time > recorded;
        if (!newer_than_record && time < newest - last_moments) continue;
        fs::remove(path, error);
        if (error) return fail(Fault::io, "remove {}: {}", path.string(), error.message());
    }
    return {};
}

std::int64_t objects_to_rebuild(const fs::path& output, const fs::path& source, const std::vector<std::string>& files,
                                const std::vector<std::string>& symbols) {
    std::unordered_set<std::string> names;
    for (const auto& file : files) names.insert((source / file).string());
    for (const auto& symbol : symbols) names.insert("include/config/" + symbol);
    if (names.empty()) return 0;
    const auto all = list(output);
    if (!all) return 0;  // an estimate for the progress bar only
    std::int64_t count = 0;
    for (const auto& file : *all) {
        const std::string name = file.path.filename().string();
        if (!is_record(name) || !name.ends_with(".o.cmd")) continue;
        const auto record = read_file(file.path);
        if (record && depends(*record, names)) ++count;
    }
    return count;
}

}  // namespace kab::kernel
