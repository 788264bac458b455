#include "cli/file_check.h"

#include <set>

#include "common/kernel_image.h"
#include "daemon/kernel/text/config.h"
#include "daemon/kernel/text/patch_text.h"

namespace kab::cli {
namespace {

constexpr std::uint64_t configuration_bytes = 16U << 20;

Status check_configuration(const fs::path& path) {
    auto text = read_file(path, configuration_bytes);
    if (!text) return pass(text);
    const auto settings = kernel::parse_fragments(kernel::fragment_header(path.string()) + *text);
    if (!settings) return pass(settings);
    return {};
}

Status check_patch_file(const fs::path& path) {
    auto text = read_file(path);
    if (!text) return pass(text);
    return kernel::check_patch(path.string(), *text);
}

Status check_image(const fs::path& path) {
    const auto image = inspect_kernel(path);
    if (!image) return pass(image);
    return {};
}

class FileChecker {
  public:
    void add_kernel(const KernelSpec& kernel) {
        if (kernel.source.kind == Source::Kind::image) return check(kernel.source.location, check_image);
        check(kernel.base, check_configuration);
        for (const auto& fragment : kernel.config) check(fragment, check_configuration);
        for (const auto& patch : kernel.patches) {
            std::error_code ignored;
            if (fs::is_directory(patch, ignored)) {
                check(patch, [this](const fs::path& directory) { return check_series(directory); });
            } else {
                check(patch, check_patch_file);
            }
        }
    }
    std::vector<Error> take() { return std::move(errors_); }

  private:
    template <class Check>
    void check(const fs::path& path, const Check& how) {
        if (!path.is_absolute() || !seen_.insert(path).second) return;
        if (auto checked = how(path); !checked) {
            Error error = checked.error();
            error.fault = Fault::spec;
            errors_.push_back(std::move(error));
        }
    }

    /// The series itself; its patches each for itself.
    Status check_series(const fs::path& directory) {
        const auto series = directory / "series";
        std::error_code ignored;
        if (!fs::exists(series, ignored))
            return fail(Fault::spec, "{}: a directory of patches needs a file 'series' that lists them",
                        directory.string());
        auto text = read_file(series);
        if (!text) return pass(text);
        const auto lines = kernel::parse_series(series.string(), *text);
        if (!lines) return pass(lines);
        for (const auto& line : *lines) {
            if (!fs::is_regular_file(directory / line.file, ignored))
                return tl::unexpected(Error{Fault::spec, "there is no patch " + line.file, line.where});
            check(directory / line.file, check_patch_file);
        }
        return {};
    }

    std::set<fs::path> seen_;
    std::vector<Error> errors_;
};

}  // namespace

std::vector<Error> check_files(const Experiment& experiment) {
    FileChecker checker;
    for (const auto& arm : experiment.arms) checker.add_kernel(arm.kernel);
    KernelSpec debug;
    debug.config = experiment.debug.config;
    debug.patches = experiment.debug.patches;
    checker.add_kernel(debug);
    return checker.take();
}

}  // namespace kab::cli
