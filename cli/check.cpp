// kab check FILE: what would run.
#include "cli/command.h"
#include "cli/spec_file.h"
#include "cli/table.h"
#include "common/units.h"
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
        if (arm.control) {
            text += fmt::format("  {}  (control: {} once more, to see what chance does)\n", arm.name, spec.name);
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

std::string workloads_text(const Experiment& experiment) {
    std::string text = "workloads\n";
    for (const auto& workload : experiment.workloads) {
        const auto points = workload.points();
        text +=
            fmt::format("  {}  {}, in each boot and point: {}, {} timed, {} with counters\n", workload.workload,
                        plural(static_cast<std::int64_t>(points.size()), "point"), plural(workload.warmup, "warm-up"),
                        workload.iterations, workload.counters.empty() ? 0 : workload.counter_iterations);
        for (const auto& point : points) text += "    point    " + parameters_text(point) + "\n";
        if (workload.counters.empty()) continue;
        text += "    counters";
        for (const auto& counter : workload.counters) text += " " + counter;
        text += "\n";
    }
    return text;
}

std::string plan_text(const Plan& plan) {
    const auto& experiment = plan.experiment;
    const auto& decide = experiment.decide;
    const auto& limits = experiment.limits;
    std::string looks;
    for (const int look : plan.looks)
        looks += fmt::format("{}{} ({})", looks.empty() ? "" : ", ", look,
                             plural(look * static_cast<std::int64_t>(plan.arms.size()), "boot"));
    const std::string head = fmt::format("experiment  {}\nquestion    {}\n", experiment.name, experiment.question);
    const std::string rest = fmt::format(
        "host        {}, {}, {}\n"
        "decide      {}, margin {:g}, alpha {:g}\n"
        "looks       after blocks {}\n"
        "limits      boot {}, run {}, block {}, build {}, evaluation {}\n",
        experiment.host.kind, plural(experiment.host.cpus, "CPU"), format_bytes(experiment.host.memory_bytes),
        decide.primary, decide.margin, decide.alpha, looks, format_duration(limits.boot), format_duration(limits.run),
        format_duration(limits.block), format_duration(limits.build), format_duration(limits.evaluation));
    return head + arms_text(plan) + workloads_text(experiment) + rest;
}

struct Options {
    std::string file;
    bool export_json = false;
};

int check(const Paths& paths, const Options& options) {
    const auto spec = load_spec(paths, options.file);
    if (!spec) return exit_usage;
    // Also finds a series or patch that cannot be read: nothing is left for `kab run` to stumble over.
    if (const auto inputs = collect_inputs(spec->experiment); !inputs) return complain(inputs.error());
    if (options.export_json) return print_or_complain(dump_json(to_json(spec->experiment)) + "\n");
    return print_or_complain(plan_text(make_plan(spec->experiment, spec->experiment.decide.seed.value_or(0))));
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("check", "Check an experiment, and show what it would run");
    command->add_option("FILE", options->file, "the experiment (YAML)")->required();
    command->add_flag("--export-json", options->export_json,
                      "print it as JSON, with every default filled in and all paths found");
    command->callback(
        [&action, options] { action = [options](const Paths& paths) { return check(paths, *options); }; });
}

}  // namespace kab::cli
