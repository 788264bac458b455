// kab kernels: what was built.
#include <unistd.h>

#include "cli/command.h"
#include "cli/source.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "common/units.h"
#include "protocol/api/json.h"

namespace kab::cli {
namespace {

int kernels(const Paths& paths, bool json) {
    auto source = open_source(paths);
    auto rows = source ? (*source)->kernels() : Result<std::vector<api::Kernel>>(pass(source));
    if (!source && source.error().fault == Fault::not_found) rows = std::vector<api::Kernel>();
    if (!rows) return complain(rows.error());
    if (json) return print_or_complain(dump_json(api::list_to_json("kernels", *rows)) + "\n");
    TextTable table{{"KERNEL", "RELEASE", "CODE", "BUILT (UTC)", "CPU TIME", "OBJECTS"},
                    {false, false, false, false, true, true},
                    {},
                    1};
    Details origins;
    const auto cell = [](const std::string& text) { return text.empty() ? Cell() : Cell(text); };
    for (const auto& kernel : *rows) {
        const bool made = kernel.cpu_ns > 0;
        table.rows.push_back({kernel.key.substr(0, 12), cell(kernel.release), cell(kernel.code_signature.substr(0, 12)),
                              format_minute(kernel.built_at),
                              made ? format_duration(Nanoseconds(kernel.cpu_ns)) : Cell(),
                              made ? std::to_string(kernel.objects) : Cell()});
        origins.emplace_back(kernel.key.substr(0, 12), kernel.origin);
    }
    auto text = format_table(table, terminal_width(STDOUT_FILENO));
    if (!origins.empty()) text += "\nmade from\n" + format_details(origins, output_width(), 2);
    return print_or_complain(text);
}

}  // namespace

void add_kernels(CLI::App& app, Action& action) {
    auto json = std::make_shared<bool>(false);
    auto* command = app.add_subcommand("kernels", "List the kernels, newest first");
    command->add_flag("--json", *json, "as GET /v1/kernels answers");
    command->callback([&action, json] { action = [json](const Paths& paths) { return kernels(paths, *json); }; });
}

}  // namespace kab::cli
