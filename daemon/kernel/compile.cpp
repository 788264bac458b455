#include "daemon/kernel/compile.h"

#include <fcntl.h>

#include <charconv>

#include "common/digest/sha256.h"
#include "daemon/kernel/kconfig.h"
#include "daemon/kernel/text/config.h"
#include "daemon/kernel/toolchain.h"

namespace kab::kernel {
namespace {

/// Objects of a lean kernel on tinyconfig, for the progress of the very first build.
constexpr std::int64_t first_guess = 780;

std::int64_t to_number(const std::string& text) {
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

/// One kernel's way through make: the log, and time and progress over several calls.
class Compilation {
  public:
    Compilation(const Frozen& frozen, const WorkTree& work_tree, const Progress& progress)
        : frozen_(frozen), tree_(work_tree), progress_(progress), log_(work_tree.source().string()) {}

    Result<Compiled> run();

  private:
    Status make(const fs::path& output, std::vector<std::string> args, const char* what);
    Result<std::string> make_config(const std::vector<Setting>& settings);
    Status write_base(const fs::path& config);
    bool configuration_stays(const std::string& wanted) const;
    Status configure();
    std::int64_t expected_objects(const std::vector<std::string>& changed) const;
    void on_line(std::string_view line);
    void show(const char* step, std::int64_t done, std::int64_t total) const {
        if (progress_) progress_(step, done, total);
    }

    const Frozen& frozen_;
    const WorkTree& tree_;
    const Progress& progress_;
    BuildLog log_;
    UniqueFd log_file_;
    Status log_status_;
    bool compiling_ = false;
    std::string config_;
    std::int64_t expected_ = 0;
    Nanoseconds wall_{0}, cpu_{0};
};

void Compilation::on_line(std::string_view line) {
    if (log_status_) log_status_ = write_all(log_file_.get(), std::string(line) + "\n");
    const auto before = log_.objects();
    const bool was_linking = log_.linking();
    log_.add(line);
    if (!compiling_) return;
    if (log_.linking()) {
        if (!was_linking) show("link", 0, 0);
    } else if (log_.objects() != before) {
        // Where more comes than was expected, nothing is known any more.
        show("compile", log_.objects(), log_.objects() < expected_ ? expected_ : 0);
    }
}

Status Compilation::make(const fs::path& output, std::vector<std::string> args, const char* what) {
    ProcessSpec spec = make_command(tree_.source(), output, tree_.temporary(), std::move(args));
    spec.held = tree_.running();
    RunOptions options;
    options.on_stdout_line = [this](std::string_view line) { on_line(line); };
    auto done = run_process(spec, options);
    if (!done) return pass(done);
    wall_ += done->elapsed;
    cpu_ += done->cpu;
    const bool log_lost = !log_status_ && tells_full_disk(log_status_.error().message);
    if (log_lost || (!done->status.ok() && log_.full_disk())) {
        return fail(Fault::io, "disk full while building in {}: free some space and run again",
                    tree_.source().parent_path().string());
    }
    if (!log_status_) return log_status_;
    if (done->status.ok()) return {};
    const std::string error = log_.first_error();
    return fail(Fault::build, "{}: {}", what, error.empty() ? "make: " + to_string(done->status) : error);
}

Status Compilation::write_base(const fs::path& config) {
    if (!is_named_base(frozen_.base)) return write_file(config, frozen_.base);
    std::error_code ignored;
    fs::remove(config, ignored);
    return make(tree_.configure_output(), {frozen_.base}, "configuration failed");
}

/// Base, then the fragments, completed by Kconfig.
Result<std::string> Compilation::make_config(const std::vector<Setting>& settings) {
    // Not elsewhere by KCONFIG_CONFIG: tinyconfig takes its own half-way result from .config.
    const fs::path path = tree_.configure_output() / ".config";
    if (auto base = write_base(path); !base) return pass(base);
    auto base = read_file(path);
    if (!base) return pass(base);
    if (auto merged = write_file(path, *base + to_config_text(settings)); !merged) return pass(merged);
    auto completed = make(tree_.configure_output(), {"olddefconfig"}, "configuration failed");
    if (!completed) return pass(completed);
    return read_file(path);
}

/// Nothing that decides the .config has changed since the one in out/ was made.
bool Compilation::configuration_stays(const std::string& wanted) const {
    std::error_code ignored;
    if (!tree_.changed_files() || tree_.note("configured") != wanted + " " + tree_.previous_tree()) return false;
    if (!fs::exists(tree_.output() / ".config", ignored)) return false;
    for (const auto& file : *tree_.changed_files()) {
        const fs::path path(file);
        if (path.filename().string().rfind("Kconfig", 0) == 0 || path.extension() == ".config") return false;
        if (path.filename() == "Makefile" || file.rfind("scripts/", 0) == 0) return false;
        if (file.find("/configs/") != std::string::npos) return false;
    }
    return true;
}

Status Compilation::configure() {
    show("configure", 0, 0);
    auto parsed = parse_fragments(frozen_.fragments);
    if (!parsed) return pass(parsed);
    const auto settings = effective_settings(std::move(*parsed));
    const fs::path path = tree_.output() / ".config";
    const std::string before = read_file(path).value_or("");
    const std::string wanted =
        Sha256().field(frozen_.base).field(to_config_text(settings)).field(frozen_.toolchain).hex();
    std::vector<std::string> changed;
    if (configuration_stays(wanted)) {
        config_ = before;
    } else {
        auto made = make_config(settings);
        if (!made) return pass(made);
        config_ = std::move(*made);
        if (const auto refused = not_granted(settings, config_); !refused.empty()) {
            return tl::unexpected(explain_not_granted(refused, Kconfig::read(tree_.source())));
        }
        changed = changed_symbols(before, config_);
        if (config_ != before) {  // else its time must not change
            if (auto written = write_file(path, config_); !written) return written;
        }
    }
    if (auto noted = tree_.set_note("configured", wanted + " " + tree_.tree()); !noted) return noted;
    expected_ = expected_objects(changed);
    return {};
}

std::int64_t Compilation::expected_objects(const std::vector<std::string>& changed) const {
    std::int64_t all = to_number(tree_.note("objects"));
    if (all == 0 && frozen_.base == "tinyconfig") all = first_guess;
    std::error_code ignored;
    if (!tree_.changed_files() || !fs::exists(tree_.output() / "vmlinux", ignored)) return all;
    return objects_to_rebuild(tree_.output(), tree_.source(), *tree_.changed_files(), changed);
}

Result<Compiled> Compilation::run() {
    auto log_file = open_file(tree_.file("build.log"), O_WRONLY | O_CREAT | O_TRUNC);
    if (!log_file) return pass(log_file);
    log_file_ = std::move(*log_file);
    if (auto configured = configure(); !configured) return pass(configured);

    const bool pvh = parse_config(config_).contains("PVH");
    Compiled compiled;
    compiled.vmlinux = tree_.output() / "vmlinux";
    compiled.image = pvh ? compiled.vmlinux : tree_.output() / "arch/x86/boot/bzImage";
    compiled.format = pvh ? "vmlinux" : "bzimage";
    std::error_code ignored;
    const bool cold = !fs::exists(compiled.vmlinux, ignored);
    compiling_ = true;
    show("compile", 0, expected_);
    auto made =
        make(tree_.output(), {"-j" + std::to_string(parallel_jobs()), pvh ? "vmlinux" : "bzImage"}, "build failed");
    if (!made) return pass(made);
    if (!fs::exists(compiled.image, ignored)) return fail(Fault::build, "make gave no {}", compiled.image.string());
    if (cold) {
        if (auto noted = tree_.set_note("objects", std::to_string(log_.objects())); !noted) return pass(noted);
    }
    compiled.config = config_;
    compiled.wall_ns = wall_.count();
    compiled.cpu_ns = cpu_.count();
    compiled.objects = log_.objects();
    compiled.warnings = log_.warnings();
    return compiled;
}

}  // namespace

Result<Compiled> compile(const Frozen& frozen, const WorkTree& work_tree, const Progress& progress) {
    return Compilation(frozen, work_tree, progress).run();
}

}  // namespace kab::kernel
