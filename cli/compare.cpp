// kab compare A B: two files of measurements, or one with several arms, without any kernel.
#include "cli/command.h"
#include "cli/compare_report.h"
#include "cli/help.h"
#include "common/files.h"
#include "common/units.h"
#include "daemon/results/results.h"

namespace kab::cli {
namespace {

struct Options {
    std::vector<std::string> files;
    std::string input, margin = "2%", format = "text";
    results::Request request;
};

constexpr const char* footer =
    "Files are recognised by their content: CSV (columns arm,block,iteration,metric,value in any order, or one column "
    "of "
    "numbers), hyperfine --export-json, Google Benchmark JSON, Go benchmark text, perf stat -x,. Two files are two "
    "arms, the "
    "first is the baseline. Where every value has a block the arms are paired in blocks; else they are compared "
    "unpaired, "
    "and the output says what that costs.\n"
    "Exit codes: 0 nothing regressed, 1 a primary metric regressed, 2 wrong usage or a file that cannot be read, "
    "4 inconclusive. Examples of every format: docs/compare.md.";

Result<results::File> read(const std::string& name, const std::string& input) {
    auto text = read_file(name == "-" ? "/dev/stdin" : name, 1U << 30);
    if (!text) return fail(Fault::usage, "{}", text.error().text());
    auto read = results::read_results(*text, name, results::parse_format(input));
    if (!read) return pass(read);
    return results::File{name, std::move(*read)};
}

Result<CompareReport> analyse(const Options& options) {
    auto request = options.request;
    const auto margin = parse_share(options.margin);
    if (!margin || *margin >= 1)
        return fail(Fault::usage, "--margin: expected a share below 100%, such as 2%, not '{}'", options.margin);
    if (!(request.alpha > 0 && request.alpha <= 0.5))
        return fail(Fault::usage, "--alpha: expected more than 0 and at most 0.5, not {:g}", request.alpha);
    request.margin = *margin;
    CompareReport report;
    std::vector<results::File> files;
    for (const auto& name : options.files) {
        auto file = read(name, options.input);
        if (!file) return pass(file);
        report.sources.push_back({name, results::to_string(file->results.format)});
        files.push_back(std::move(*file));
    }
    auto prepared = results::prepare(std::move(files), request);
    if (!prepared) return pass(prepared);
    report.prepared = std::move(*prepared);
    report.output = stats::analyse(report.prepared.input);
    return report;
}

int exit_code(stats::Verdict verdict) {
    switch (verdict) {
        case stats::Verdict::regressed: return exit_regressed;
        case stats::Verdict::improved:
        case stats::Verdict::equivalent:
        case stats::Verdict::none: return exit_ok;
        default: return exit_inconclusive;
    }
}

int compare(const Options& options) {
    const auto report = analyse(options);
    if (!report) return complain(report.error());
    const auto text = options.format == "json"       ? compare_json(*report)
                      : options.format == "csv"      ? compare_csv(*report)
                      : options.format == "markdown" ? report::to_markdown(compare_document(*report))
                                                     : report::to_text(compare_document(*report));
    const int printed = print_or_complain(text);
    return printed == exit_ok ? exit_code(report->output.verdict) : printed;
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
    auto options = std::make_shared<Options>();
    auto& request = options->request;
    auto* command = app.add_subcommand("compare", "Compare two files of measurements, whatever made them");
    command
        ->add_option("FILES", options->files,
                     "the baseline's file and another, or one file with several arms; - is "
                     "standard input")
        ->required()
        ->expected(1, 2);
    command
        ->add_option(
            "--metric", request.metrics,
            "a metric, benchmark, or benchmark/metric; may be repeated, the first is primary (default: all, the "
            "first of the file is primary)")
        ->allow_extra_args(false)
        ->type_name("NAME");
    command->add_option("--baseline", request.baseline, "of one file: the arm to compare with (default: its first)")
        ->type_name("ARM");
    command->add_option("--higher", request.higher, "a metric of which more is better; may be repeated")
        ->allow_extra_args(false)
        ->type_name("NAME");
    command
        ->add_option("--linear", request.linear, "a metric to compare as a difference, not as a ratio; may be repeated")
        ->allow_extra_args(false)
        ->type_name("NAME");
    command->add_option("--margin", options->margin, "a change within it does not matter")
        ->type_name("SHARE")
        ->capture_default_str();
    command->add_option("--alpha", request.alpha, "error probability, over all primary comparisons")
        ->type_name("P")
        ->capture_default_str();
    command->add_option("--input", options->input, "the format of the files, in place of what is recognised")
        ->check(CLI::IsMember(results::format_names()))
        ->type_name("FORMAT");
    auto* format = command->add_option("--format", options->format, "of the output; csv has one row a comparison")
                       ->check(CLI::IsMember({"text", "markdown", "json", "csv"}))
                       ->type_name("FORMAT")
                       ->capture_default_str();
    add_json_format(*command, format, options->format);
    command->footer(footer);
    command->callback([&action, options] { action = [options](const Paths&) { return compare(*options); }; });
}

}  // namespace kab::cli
