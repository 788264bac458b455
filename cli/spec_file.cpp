#include "cli/spec_file.h"

#include <set>
#include <sstream>

#include "common/digest/sha256.h"
#include "daemon/spec/parse.h"
#include "daemon/spec/resolve.h"

namespace kab::cli {
namespace {

constexpr std::uint64_t spec_bytes = 1U << 20;

void print_errors(const std::vector<Error>& errors) {
    for (const auto& error : errors) fmt::print(stderr, "{}\n", error.text());
    if (errors.size() > 1) fmt::print(stderr, "kab: {} errors\n", errors.size());
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
        const auto name = path.lexically_normal().string();
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
        std::istringstream lines(*listing);
        int number = 0;
        for (std::string line; std::getline(lines, line);) {
            ++number;
            std::istringstream words(line);
            std::string file;
            if (!(words >> file) || file.front() == '#') continue;
            if (!fs::is_regular_file(path / file, ignored))
                return fail(Fault::spec, "{}:{}: there is no patch {}", series.string(), number, file);
            if (auto added = add_file(path / file); !added) return added;
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
    auto parsed = parse_experiment(*text, file);
    if (!parsed) {
        print_errors(parsed.error());
        return std::nullopt;
    }
    SpecFile spec{std::move(*text), file, std::move(parsed->experiment)};
    std::error_code ignored;
    const auto directory = fs::absolute(file, ignored).parent_path();
    if (auto resolved = resolve(spec.experiment, directory, paths, parsed->places); !resolved) {
        print_errors(resolved.error());
        return std::nullopt;
    }
    return spec;
}

Result<std::vector<LocalFile>> collect_inputs(const Experiment& experiment) {
    Collector collector;
    for (const auto& arm : experiment.arms)
        if (auto added = collector.add_kernel(arm.kernel); !added) return pass(added);
    return collector.take();
}

}  // namespace kab::cli
