// kab query 'SQL': one question to the database, read-only.
#include <unistd.h>

#include <set>

#include "cli/command.h"
#include "cli/source.h"
#include "cli/table.h"
#include "common/json.h"

namespace kab::cli {
namespace {

struct Options {
    std::string sql, format = "auto";
};

TextTable to_text_table(store::Store::Table&& table) {
    TextTable text;
    for (const auto& type : table.types) text.right.push_back(type == "integer" || type == "real");
    text.columns = std::move(table.columns);
    text.rows = std::move(table.rows);
    return text;
}

Json json_value(const Cell& cell, bool number) {
    if (!cell) return nullptr;
    if (number) {
        // A number stays as written by SQLite; a text in a column of numbers stays a text.
        if (auto value = parse_json(*cell); value && value->is_number()) return *value;
    }
    return *cell;
}

Result<std::string> format_json(const store::Store::Table& table) {
    if (const std::set<std::string> names(table.columns.begin(), table.columns.end());
        names.size() != table.columns.size())
        return fail(Fault::usage, "two columns have the same name: JSON needs one each (SELECT ... AS name)");
    auto rows = nlohmann::ordered_json::array();  // columns in the order of the question
    for (const auto& row : table.rows) {
        auto object = nlohmann::ordered_json::object();
        for (std::size_t i = 0; i < row.size(); ++i) {
            const bool number = i < table.types.size() && (table.types[i] == "integer" || table.types[i] == "real");
            object[table.columns[i]] = json_value(row[i], number);
        }
        rows.push_back(std::move(object));
    }
    return rows.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

int query(const Paths& paths, const Options& options) {
    auto store = open_store(paths);
    if (!store) return complain(store.error());
    auto table = (*store)->query(options.sql);
    if (!table) return complain(table.error());
    auto format = options.format;
    if (format == "auto") format = ::isatty(STDOUT_FILENO) != 0 ? "table" : "csv";
    if (format == "json") {
        const auto text = format_json(*table);
        return text ? print_or_complain(*text) : complain(text.error());
    }
    const auto text = to_text_table(std::move(*table));
    return print_or_complain(format == "table" ? format_table(text) : format_csv(text));
}

}  // namespace

void add_query(CLI::App& app, Action& action) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("query", "Ask the database in SQL (read-only)");
    command->add_option("SQL", options->sql, "one SELECT; the views v_sample, v_comparison and v_boot are stable")
        ->required();
    auto* format =
        command->add_option("--format", options->format, "table, csv, json, or auto: a table on a terminal, else csv")
            ->check(CLI::IsMember({"auto", "table", "csv", "json"}))
            ->type_name("FORMAT")
            ->capture_default_str();
    add_json_format(*command, format, options->format);
    command->footer(
        "Example, on the newest evaluation:\n"
        "  kab query \"select arm, count(*), avg(value) from v_sample where evaluation = (select max(uid) from "
        "evaluation) and metric = 'elapsed' and not warmup group by arm\"\n"
        "Tables and views: docs/database.md.");
    command->callback(
        [&action, options] { action = [options](const Paths& paths) { return query(paths, *options); }; });
}

}  // namespace kab::cli
