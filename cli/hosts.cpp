// kab hosts: the machines that boot kernels.
#include "cli/command.h"
#include "cli/source.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "common/units.h"
#include "protocol/api/json.h"

namespace kab::cli {
namespace {

std::string value_text(const std::string& name, const Json& value) {
    auto text = value.is_string() ? value.get<std::string>() : dump_json(value);
    if (name != "memory") return text;
    const auto bytes = parse_json(text);
    return bytes && bytes->is_number_integer() ? format_bytes(bytes->get<std::int64_t>()) : text;
}

Details details_of(const api::Host& host) {
    Details details;
    for (const auto& [name, value] : host.properties.items()) details.emplace_back(name, value_text(name, value));
    return details;
}

int hosts(const Paths& paths, bool json) {
    auto source = open_source(paths);
    auto rows = source ? (*source)->hosts() : Result<std::vector<api::Host>>(pass(source));
    if (!source && source.error().fault == Fault::not_found) rows = std::vector<api::Host>();
    if (!rows) return complain(rows.error());
    if (json) return print_or_complain(dump_json(api::list_to_json("hosts", *rows)) + "\n");
    TextTable table{{"HOST", "KIND", "STATUS", "LAST SEEN (UTC)"}, {}, {}, {}};
    std::string properties;
    for (const auto& host : *rows) {
        table.rows.push_back({host.name, host.kind, host.status, format_time(host.last_seen_at)});
        properties += "\n" + host.name + "\n" + format_details(details_of(host), output_width(), 2);
    }
    return print_or_complain(format_table(table) + properties);
}

}  // namespace

void add_hosts(CLI::App& app, Action& action) {
    auto json = std::make_shared<bool>(false);
    auto* command = app.add_subcommand("hosts", "List the hosts that have booted kernels");
    command->add_flag("--json", *json, "as GET /v1/hosts answers");
    command->callback([&action, json] { action = [json](const Paths& paths) { return hosts(paths, *json); }; });
}

}  // namespace kab::cli
