#include "daemon/kernel/kconfig.h"

#include <array>

#include "common/suggest.h"
#include "daemon/kernel/text/lines.h"

namespace kab::kernel {
namespace {

constexpr std::size_t shown_in_full = 4;

std::string_view without_indent(std::string_view line) {
    const auto begin = line.find_first_not_of(" \t");
    return begin == std::string_view::npos ? std::string_view() : line.substr(begin);
}

/// What follows `word` and white space; empty if the line does not begin so.
std::string_view after(std::string_view line, std::string_view word) {
    if (line.substr(0, word.size()) != word) return {};
    line.remove_prefix(word.size());
    if (line.empty() || (line.front() != ' ' && line.front() != '\t')) return {};
    return without_indent(line);
}

bool is_prompt(std::string_view line) {
    constexpr std::array words = {"bool", "tristate", "string", "int", "hex", "prompt", "def_bool", "def_tristate"};
    for (const char* word : words) {
        const auto rest = after(line, word);
        if (!rest.empty() && (rest.front() == '"' || rest.front() == '\'')) return true;
    }
    return false;
}

}  // namespace

Kconfig Kconfig::read(const fs::path& source) {
    Kconfig kconfig;
    std::error_code error;
    fs::recursive_directory_iterator walk(source, error);
    for (const fs::recursive_directory_iterator end; !error && walk != end; walk.increment(error)) {
        const std::string name = walk->path().filename().string();
        if (walk.depth() == 1 && walk->path().parent_path() == source / "arch" && name != "x86" &&
            walk->is_directory(error)) {
            walk.disable_recursion_pending();
            continue;
        }
        if (name.rfind("Kconfig", 0) != 0 || !walk->is_regular_file(error)) continue;
        // A file that cannot be read makes an explanation poorer, nothing else.
        if (const auto text = read_file(walk->path())) kconfig.add(*text);
    }
    return kconfig;
}

void Kconfig::add(const std::string& text) {
    KconfigSymbol* current = nullptr;
    for (const auto& raw : split_lines(text)) {
        const std::string_view line = without_indent(raw);
        std::string_view name = after(line, "config");
        if (name.empty()) name = after(line, "menuconfig");
        if (!name.empty()) {
            current = &symbols_[std::string(name.substr(0, name.find_first_of(" \t#")))];
        } else if (current != nullptr && line == raw && !line.empty() && line.front() != '#') {
            current = nullptr;  // menu, choice, if, source: written at the left edge
        } else if (current != nullptr) {
            if (is_prompt(line)) current->prompt = true;
            if (const auto expression = after(line, "depends on"); !expression.empty()) {
                current->depends.emplace_back(expression);
            }
        }
    }
}

std::string Kconfig::explain(const NotGranted& setting) const {
    const auto& [asked, got] = setting;
    const std::string symbol = "CONFIG_" + asked.symbol;
    const std::string what = symbol + "=" + asked.value;
    const auto found = symbols_.find(asked.symbol);
    if (found == symbols_.end()) {
        std::vector<std::string> names;
        for (const auto& [name, entry] : symbols_) names.push_back(name);
        const std::string near = suggest(asked.symbol, names);
        return what + " does not exist in this kernel" + (near.empty() ? "" : "; did you mean CONFIG_" + near + "?");
    }
    std::string text = what + " was not granted: Kconfig made it " + got;
    if (!found->second.prompt) return text + " (it cannot be set, it follows from other symbols)";
    for (std::size_t i = 0; i < found->second.depends.size(); ++i) {
        text += (i == 0 ? "; it depends on " : " and ") + found->second.depends[i];
    }
    return text;
}

Error explain_not_granted(const std::vector<NotGranted>& settings, const Kconfig& kconfig) {
    std::string text;
    for (std::size_t i = 0; i < settings.size(); ++i) {
        if (i == shown_in_full) {
            text += fmt::format("; and {} more:", settings.size() - i);
        }
        if (i < shown_in_full) {
            text += (i == 0 ? "" : "; " + settings[i].asked.where + ": ") + kconfig.explain(settings[i]);
        } else {
            text += " CONFIG_" + settings[i].asked.symbol;
        }
    }
    return Error{Fault::spec, text, settings.empty() ? "" : settings.front().asked.where};
}

}  // namespace kab::kernel
