#include "cli/spec_file.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>
#include <tuple>

#include "cli/file_check.h"
#include "common/digest/sha256.h"
#include "daemon/kernel/text/patch_text.h"
#include "daemon/spec/parse.h"
#include "daemon/spec/resolve.h"

namespace kab::cli {
namespace {

constexpr std::uint64_t spec_bytes = 1U << 20;

void print_errors(const std::vector<Error>& errors) {
    for (const auto& error : errors) fmt::print(stderr, "{}\n", error.text());
    if (errors.size() > 1) fmt::print(stderr, "kab: {} errors\n", errors.size());
}

/// Of an error in the experiment's file; errors without a place come last.
std::tuple<int, int> line_and_column(const Error& error, const std::string& file) {
    constexpr int last = std::numeric_limits<int>::max();
    if (error.where.rfind(file + ":", 0) != 0) return {last, last};
    const char* const end = error.where.data() + error.where.size();
    int line = last, column = last;
    const auto [at, wrong] = std::from_chars(error.where.data() + file.size() + 1, end, line);
    if (wrong == std::errc() && at != end) std::from_chars(at + 1, end, column);
    return {line, column};
}

class Collector {
  public:
    Status add_kernel(const KernelSpec& kernel) {
        if (kernel.source.kind == Source::Kind::image) return {};  // nothing is built
        if (fs::path(kernel.base).is_absolute())
            if (auto added = add_file(kernel.base); !added) return added;
        for (const auto& fragment : kernel.config)
            if (auto added = add_file(fragment); !added) return added;
        for (const auto& patch : kernel.patches)
            if (auto added = add_patch(patch); !added) return added;
        return {};
    }
    std::vector<LocalFile> take() { return std::move(files_); }

  private:
    Status add_file(const fs::path& path) {
        const auto name = path.string();  // clean since resolve()
        if (!seen_.insert(name).second) return {};
        auto bytes = read_file(name);
        if (!bytes) return fail(Fault::spec, "{}", bytes.error().text());
        auto sha256 = sha256_hex(*bytes);
        files_.push_back({name, std::move(*bytes), std::move(sha256)});
        return {};
    }

    Status add_patch(const fs::path& path) {
        std::error_code ignored;
        if (!fs::is_directory(path, ignored)) return add_file(path);
        const auto series = path / "series";
        if (!fs::exists(series, ignored))
            return fail(Fault::spec, "{}: a directory of patches needs a file 'series' that lists them", path.string());
        if (auto added = add_file(series); !added) return added;
        const auto listing = read_file(series);
        if (!listing) return pass(listing);
        const auto lines = kernel::parse_series(series.string(), *listing);
        if (!lines) return pass(lines);
        for (const auto& line : *lines) {
            if (auto added = add_file(path / line.file); !added) return added;
        }
        return {};
    }

    std::set<std::string> seen_;
    std::vector<LocalFile> files_;
};

}  // namespace

std::optional<SpecFile> load_spec(const Paths& paths, const std::string& file) {
    auto text = read_file(file, spec_bytes);
    if (!text) {
        fmt::print(stderr, "kab: {}\n", text.error().text());
        return std::nullopt;
    }
    ParsedSpec read;
    std::vector<Error> errors;
    if (auto parsed = parse_experiment(*text, file, &read)) {
        read = std::move(*parsed);
    } else {
        errors = std::move(parsed.error());
    }
    std::error_code ignored;
    const auto directory = fs::absolute(file, ignored).parent_path();
    if (auto resolved = resolve(read.experiment, directory, paths, read.places); !resolved)
        errors.insert(errors.end(), resolved.error().begin(), resolved.error().end());
    std::stable_sort(errors.begin(), errors.end(), [&](const Error& a, const Error& b) {
        return line_and_column(a, file) < line_and_column(b, file);
    });
    const auto of_files = check_files(read.experiment);  // these name other files: after those of this one
    errors.insert(errors.end(), of_files.begin(), of_files.end());
    if (!errors.empty()) {
        print_errors(errors);
        return std::nullopt;
    }
    return SpecFile{std::move(*text), file, std::move(read.experiment)};
}

Result<std::vector<LocalFile>> collect_inputs(const Experiment& experiment) {
    Collector collector;
    for (const auto& arm : experiment.arms)
        if (auto added = collector.add_kernel(arm.kernel); !added) return pass(added);
    KernelSpec debug;
    debug.config = experiment.debug.config;
    debug.patches = experiment.debug.patches;
    if (auto added = collector.add_kernel(debug); !added) return pass(added);
    return collector.take();
}

}  // namespace kab::cli
