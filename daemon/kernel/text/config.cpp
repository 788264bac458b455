#include "daemon/kernel/text/config.h"

#include <algorithm>
#include <set>

#include "daemon/kernel/text/lines.h"

namespace kab::kernel {
namespace {

constexpr std::string_view header_start = "# kab fragment: ";

bool is_symbol(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    });
}

bool is_value(std::string_view text) {
    if (text == "y" || text == "m" || text == "n") return true;
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"') return true;
    if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
    if (text.substr(0, 2) == "0x" || text.substr(0, 2) == "0X") {
        return text.size() > 2 && text.find_first_not_of("0123456789abcdefABCDEF", 2) == std::string_view::npos;
    }
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string_view trimmed(std::string_view line) {
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r')) line.remove_suffix(1);
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    return line;
}

enum class LineKind { nothing, setting, wrong };

/// `setting` gets symbol and value.
LineKind parse_line(std::string_view line, Setting& setting) {
    constexpr std::string_view prefix = "CONFIG_", off_start = "# CONFIG_", off_end = " is not set";
    if (line.substr(0, off_start.size()) == off_start && line.ends_with(off_end)) {
        const auto symbol = line.substr(off_start.size(), line.size() - off_start.size() - off_end.size());
        if (!is_symbol(symbol)) return LineKind::nothing;  // a sentence that looks like it
        setting.symbol = symbol;
        setting.value = "n";
        return LineKind::setting;
    }
    if (line.empty() || line.front() == '#') return LineKind::nothing;
    const auto equals = line.find('=');
    if (line.substr(0, prefix.size()) != prefix || equals == std::string_view::npos) return LineKind::wrong;
    setting.symbol = line.substr(prefix.size(), equals - prefix.size());
    setting.value = line.substr(equals + 1);
    return is_symbol(setting.symbol) && is_value(setting.value) ? LineKind::setting : LineKind::wrong;
}

}  // namespace

std::string fragment_header(const std::string& name) {
    return std::string(header_start) + name + "\n";
}

Result<std::vector<Setting>> parse_fragments(const std::string& text) {
    std::vector<Setting> settings;
    std::string file = "configuration";
    std::size_t number = 0;
    for (const auto& raw : split_lines(text)) {
        if (raw.rfind(header_start, 0) == 0) {
            file = raw.substr(header_start.size());
            number = 0;
            continue;
        }
        const std::string_view line = trimmed(raw);
        Setting setting;
        setting.where = file + ":" + std::to_string(++number);
        switch (parse_line(line, setting)) {
            case LineKind::nothing: break;
            case LineKind::setting: settings.push_back(std::move(setting)); break;
            case LineKind::wrong:
                return tl::unexpected(
                    Error{Fault::spec,
                          fmt::format("'{}' is no configuration line (expected CONFIG_NAME=y, m, n, a number or "
                                      "\"text\", or # CONFIG_NAME is not set)",
                                      line.substr(0, 80)),
                          setting.where});
        }
    }
    return settings;
}

std::vector<Setting> effective_settings(std::vector<Setting> settings) {
    std::set<std::string> seen;
    std::vector<Setting> result;
    for (auto setting = settings.rbegin(); setting != settings.rend(); ++setting) {
        if (seen.insert(setting->symbol).second) result.push_back(std::move(*setting));
    }
    std::reverse(result.begin(), result.end());
    return result;
}

std::string to_config_text(const std::vector<Setting>& settings) {
    std::string text;
    for (const auto& [symbol, value, where] : settings) {
        text += value == "n" ? "# CONFIG_" + symbol + " is not set\n" : "CONFIG_" + symbol + "=" + value + "\n";
    }
    return text;
}

std::map<std::string, std::string> parse_config(const std::string& text) {
    std::map<std::string, std::string> symbols;
    for (const auto& line : split_lines(text)) {
        Setting setting;
        if (parse_line(trimmed(line), setting) != LineKind::setting) continue;
        if (setting.value == "n") {
            symbols.erase(setting.symbol);
        } else {
            symbols[setting.symbol] = setting.value;
        }
    }
    return symbols;
}

std::vector<NotGranted> not_granted(const std::vector<Setting>& settings, const std::string& config) {
    const auto symbols = parse_config(config);
    std::vector<NotGranted> result;
    for (const auto& setting : settings) {
        const auto found = symbols.find(setting.symbol);
        const std::string got = found == symbols.end() ? "n" : found->second;
        if (got != setting.value) result.push_back({setting, got});
    }
    return result;
}

std::vector<std::string> changed_symbols(const std::string& before, const std::string& after) {
    const auto old_symbols = parse_config(before), new_symbols = parse_config(after);
    std::vector<std::string> result;
    for (const auto& [symbol, value] : old_symbols) {
        const auto now = new_symbols.find(symbol);
        if (now == new_symbols.end() || now->second != value) result.push_back(symbol);
    }
    for (const auto& [symbol, value] : new_symbols) {
        if (!old_symbols.contains(symbol)) result.push_back(symbol);
    }
    return result;
}

}  // namespace kab::kernel
