#include "cli/help.h"

#include "cli/table.h"

namespace kab::cli {
namespace {

constexpr std::size_t help_width = 79;

std::string wrap_paragraphs(const std::string& text) {
    std::string wrapped;
    for (std::size_t begin = 0; begin < text.size();) {
        const auto end = std::min(text.find('\n', begin), text.size());
        wrapped += wrap(text.substr(begin, end - begin), help_width) + "\n";
        begin = end + 1;
    }
    return wrapped;
}

}  // namespace

HelpFormatter::HelpFormatter() {
    column_width(24);
    label("SUBCOMMAND", "COMMAND");
    label("Positionals", "Arguments");
}

/// The kind of value, without what CLI11 adds of validators, defaults and exclusions: they make lines long.
std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
    const auto type = option->get_type_name();
    const auto name = type.substr(0, type.find(':'));
    return option->get_type_size() == 0 || name.empty() || name == "TEXT" ? "" : " " + name;
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
    auto text = option->get_description();
    if (const auto usual = option->get_default_str(); !usual.empty()) text += " (default: " + usual + ")";
    return wrap(text, help_width - get_column_width());
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
    std::ostringstream out;
    CLI::detail::format_help(out, command->get_name(),
                             wrap(command->get_description(), help_width - get_column_width()), get_column_width());
    return out.str();
}

std::string HelpFormatter::make_description(const CLI::App* command) const {
    return wrap_paragraphs(command->get_description());
}

std::string HelpFormatter::make_footer(const CLI::App* command) const {
    return wrap_paragraphs(command->get_footer());
}

}  // namespace kab::cli
