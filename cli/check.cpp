// kab check FILE: what would run.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "cli/command.h"
#include "cli/spec_file.h"
#include "cli/table.h"
#include "common/score.h"
#include "common/units.h"
#include "common/workload_catalog.h"
#include "daemon/plan/plan.h"
#include "daemon/spec/experiment_json.h"
#include "daemon/spec/resolve.h"

namespace kab::cli {
namespace {

std::string plural(std::int64_t count, const std::string& word) {
    return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::string source_text(const Source& source) {
    switch (source.kind) {
        case Source::Kind::tarball: return "tarball " + source.location;
        case Source::Kind::git: return fmt::format("git {} at {}", source.location, source.ref);
        case Source::Kind::dir: return "working tree " + source.location;
        case Source::Kind::image:
            return "image " + source.location + (source.modules ? ", modules " + *source.modules : "");
    }
    return {};
}

std::string kernel_text(const KernelSpec& kernel) {
    std::string text;
    if (kernel.source.kind != Source::Kind::image) {
        text += "    config   " + kernel.base;
        for (const auto& fragment : kernel.config) text += " + " + fs::path(fragment).filename().string();
        text += "\n";
        for (const auto& patch : kernel.patches) text += "    patch    " + patch + "\n";
    }
    if (!kernel.command_line.empty()) text += "    cmdline  " + kernel.command_line + "\n";
    return text;
}

std::string arms_text(const Plan& plan) {
    std::string text = "arms\n";
    for (const auto& arm : plan.arms) {
        const auto& spec = plan.experiment.arms[static_cast<std::size_t>(arm.kernel_of)];
        if (arm.role == Role::debug) continue;
        if (arm.role != Role::measured) {
            text += fmt::format("  {}  (control: {} {})\n", arm.name, spec.name,
                                arm.control() ? "once more, to see what chance does"
                                              : "with its code moved, to see what placement of code does");
            continue;
        }
        text += fmt::format("  {}  ({})\n", arm.name, arm.against.empty() ? "baseline" : "against " + arm.against);
        text += "    source   " + source_text(spec.kernel.source) + "\n" + kernel_text(spec.kernel);
    }
    return text;
}

std::string parameters_text(const Parameters& parameters) {
    std::string text;
    for (const auto& [name, value] : parameters) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
    return text;
}

std::string checks_text(const Plan& plan) {
    const auto& experiment = plan.experiment;
    if (experiment.checks.empty()) return {};
    const auto variants =
        std::count_if(plan.arms.begin(), plan.arms.end(), [](const auto& arm) { return arm.role == Role::debug; });
    const auto order = block_order(plan, check_block);
    std::string text = fmt::format("checks, before the first block, in {}\n", plural(std::ssize(order), "boot"));
    for (const auto& check : experiment.checks)
        text += fmt::format("  {}  {}{}\n", check.check, parameters_text(check.with),
                            check.debug_only ? "  (debug variants only)" : "");
    if (variants == 0) return text + "  no debug variants\n";
    text += fmt::format("  {}, each the arm and\n", plural(variants, "debug variant"));
    for (const auto& fragment : experiment.debug.config)
        text += "    config   " + fs::path(fragment).filename().string() + "\n";
    for (const auto& patch : experiment.debug.patches) text += "    patch    " + patch + "\n";
    return text;
}

/// With what is wrong with a quantile beyond what the iterations of a boot can tell; empty for the mean.
std::string score_text(const WorkloadSpec& workload) {
    if (!workload.quantile) return "";
    const auto text = fmt::format("    score    {} of the timed iterations of a boot", score_word(workload.quantile));
    const double q = *workload.quantile, n = workload.iterations;
    // Written in decimals, 0.9 is a little less: ten iterations are enough for p90.
    const double beyond = std::min(q, 1 - q) * n + 1e-9;
    if (beyond >= 1 || q == 0.5) return text + "\n";
    return text + fmt::format("\n    note     with {} that is little else than their {}: {} takes {:.0f} iterations\n",
                              plural(workload.iterations, "iteration"), q > 0.5 ? "maximum" : "minimum",
                              score_word(workload.quantile), std::ceil(1 / std::min(q, 1 - q) - 1e-9));
}

/// What is declared; empty for nothing.
std::string exclude_text(const Exclude& exclude) {
    std::vector<std::string> causes;
    if (exclude.host_load) causes.push_back(fmt::format("host-load above {:g}", *exclude.host_load));
    for (const auto& [name, most] : {std::pair("steal", exclude.steal), std::pair("run-delay", exclude.run_delay),
                                     std::pair("canary", exclude.canary)})
        if (most) causes.push_back(fmt::format("{} above {:g}%", name, 100 * *most));
    if (exclude.throttled) causes.emplace_back("throttled");
    return causes.empty() ? "" : fmt::format("exclude     blocks with {}\n", fmt::join(causes, ", "));
}

std::string workloads_text(const Experiment& experiment) {
    std::string text = "workloads\n";
    for (const auto& workload : experiment.workloads) {
        const auto points = workload.points();
        text +=
            fmt::format("  {}  {}, in each boot and point: {}, {} timed, {} with counters\n", workload.workload,
                        plural(static_cast<std::int64_t>(points.size()), "point"), plural(workload.warmup, "warm-up"),
                        workload.iterations, workload.counters.empty() ? 0 : workload.counter_iterations);
        for (const auto& point : points) text += "    point    " + parameters_text(point) + "\n";
        text += score_text(workload);
        if (workload.profile) {
            text += fmt::format("    profile  {} more, {} samples a second on each CPU\n", workload.profile->iterations,
                                workload.profile->frequency_hz);
            for (const auto& group : workload.profile->groups)
                text += fmt::format(
                    "    share    {}{}{}{}\n", group.name, group.callers.empty() ? "" : " (by caller)",
                    group.of_kernel ? ", of the kernel's samples" : "",
                    group.better == Better::neither ? "" : fmt::format(", {} is better", to_string(group.better)));
        }
        if (workload.counters.empty()) continue;
        text += "    counters";
        for (const auto& counter : workload.counters) text += " " + counter;
        text += "\n";
    }
    return text;
}

/// As an experiment would have it: in the largest unit of which it is a whole number.
std::string limit_text(Nanoseconds limit) {
    const std::pair<Nanoseconds, const char*> units[] = {
        {std::chrono::hours(1), "h"}, {std::chrono::minutes(1), "m"}, {std::chrono::seconds(1), "s"}};
    for (const auto& [unit, name] : units)
        if (limit % unit == Nanoseconds(0)) return fmt::format("{}{}", limit / unit, name);
    return format_duration(limit);
}

std::string memory_text(std::int64_t bytes) {
    constexpr std::int64_t mebibyte = 1 << 20;
    return bytes % mebibyte == 0 ? fmt::format("{} MiB", bytes / mebibyte) : format_bytes(bytes);
}

/// ", exact (timer and layout vary)"; empty without exact mode.
std::string exact_text(const HostSpec& host) {
    if (!host.exact) return "";
    if (!host.vary_timer && !host.vary_layout) return ", exact (nothing varies)";
    if (host.vary_timer && host.vary_layout) return ", exact (timer and layout vary)";
    return host.vary_timer ? ", exact (timer varies)" : ", exact (layout varies)";
}

/// A share for what is compared by ratio, else a number in the metric's unit.
std::string margin_text(const Decide& decide) {
    const auto slash = decide.primary.find('/');
    const auto metric = find_metric(decide.primary.substr(0, slash), decide.primary.substr(slash + 1));
    return metric.scale == Scale::log ? fmt::format("{:g}%", 100 * decide.margin) : fmt::format("{:g}", decide.margin);
}

std::string at_text(const Decide& decide) {
    std::string text;
    for (const auto& [name, value] : decide.at)
        text += fmt::format("{}{}={}", text.empty() ? " at " : " ", name, value);
    return text;
}

std::string plan_text(const Plan& plan) {
    const auto& experiment = plan.experiment;
    const auto& decide = experiment.decide;
    const auto& limits = experiment.limits;
    const auto timed =
        std::count_if(plan.arms.begin(), plan.arms.end(), [](const auto& arm) { return arm.role != Role::debug; });
    std::string looks;
    for (const int look : plan.looks)
        looks += fmt::format("{}{} ({})", looks.empty() ? "" : ", ", look, plural(look * timed, "boot"));
    auto head = fmt::format("experiment  {}\n", experiment.name);
    if (!experiment.question.empty()) head += fmt::format("question    {}\n", experiment.question);
    const std::string rest = fmt::format(
        "host        {}, {}, {}{}\n"
        "{}"
        "decide      {}{}, margin {}, alpha {:g}\n"
        "looks       after blocks {}\n"
        "limits      boot {}, run {}, block {}, build {}, evaluation {}\n",
        experiment.host.kind, plural(experiment.host.cpus, "CPU"), memory_text(experiment.host.memory_bytes),
        exact_text(experiment.host), exclude_text(experiment.exclude), decide.primary, at_text(decide),
        margin_text(decide), decide.alpha, looks, limit_text(limits.boot), limit_text(limits.run),
        limit_text(limits.block), limit_text(limits.build), limit_text(limits.evaluation));
    return head + arms_text(plan) + checks_text(plan) + workloads_text(experiment) + rest;
}

struct Options {
    std::string file;
    bool export_json = false;
};

int check(const Paths& paths, const Options& options) {
    const auto spec = load_spec(paths, options.file);
    if (!spec) return exit_usage;
    // Also finds what cannot be read: nothing is left for `kab run` to stumble over.
    if (const auto inputs = collect_inputs(spec->experiment); !inputs) return complain(inputs.error());
    if (options.export_json) return print_or_complain(dump_json(to_json(spec->experiment)) + "\n");
    return print_or_complain(plan_text(make_plan(spec->experiment, spec->experiment.decide.seed.value_or(0))));
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("check", "Check an experiment, and show what it would run");
    command->add_option("FILE", options->file, "the experiment (YAML)")->required();
    command->add_flag("--json,--export-json", options->export_json,
                      "print it as JSON, with every default filled in and all paths found");
    command->callback(
        [&action, options] { action = [options](const Paths& paths) { return check(paths, *options); }; });
}

}  // namespace kab::cli
