// kab report ID: the report of an evaluation, from the database.
#include "cli/command.h"
#include "cli/help.h"
#include "cli/report_format.h"
#include "cli/source.h"
#include "daemon/report/replay.h"

namespace kab::cli {
namespace {

struct Options {
    std::string id = "last", format = "text";
    bool explain = false, recompute = false;
};

/// Takes the last look again from the stored samples.
int recompute(const Paths& paths, const Options& options) {
    const auto store = open_store(paths);
    if (!store) return complain(store.error());
    const auto found = (*store)->find_evaluation(options.id);
    if (!found) return complain(found.error());
    const auto replay = report::replay(**store, found->uid);
    if (!replay) return complain(replay.error());
    const std::string look = replay->look < 0 ? "what there was at the end" : fmt::format("look {}", replay->look + 1);
    if (replay->differences.empty()) {
        const std::string words =
            replay->reworded == 0
                ? ""
                : fmt::format("; this version of kab says {} of them in other words", replay->reworded);
        return print_or_complain(
            fmt::format("evaluation {}: {} taken again, {} comparisons: bit for bit as stored, {}{}\n", found->uid,
                        look, replay->compared, replay->computed, words));
    }
    std::string text = fmt::format("evaluation {}: {} taken again: {} differences (stored: {}, computed: {})\n",
                                   found->uid, look, replay->differences.size(), replay->stored, replay->computed);
    for (const auto& line : replay->differences) text += line + "\n";
    const int printed = print_or_complain(text);
    return printed == exit_ok ? exit_fault : printed;
}

int report(const Paths& paths, const Options& options) {
    if (options.recompute) return recompute(paths, options);
    const auto text = render_report(paths, options.id, options.format, options.explain);
    return text ? print_or_complain(*text) : complain(text.error());
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("report", "Print the report of an evaluation, finished or not");
    add_evaluation_id(*command, options->id)->capture_default_str();
    add_report_format(*command, options->format);
    auto* explain = command->add_flag("--explain", options->explain,
                                      "also how each verdict came about and what was left out (text, markdown)");
    command
        ->add_flag("--recompute", options->recompute,
                   "take the last look again from the stored samples and compare it with what is stored, bit for "
                   "bit; exit code 3 if they differ")
        ->excludes(explain);
    command->footer(reading_exit_codes);
    command->callback(
        [&action, options] { action = [options](const Paths& paths) { return report(paths, *options); }; });
}

}  // namespace kab::cli
