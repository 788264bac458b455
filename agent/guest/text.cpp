#include "agent/guest/text.h"

#include <charconv>

#include "common/files.h"

namespace kab::guest {

std::string_view trim(std::string_view text) {
    constexpr std::string_view space = " \t\r\n";
    const auto first = text.find_first_not_of(space);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(space) - first + 1);
}

std::string_view next_line(std::string_view& text) {
    const auto end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    return line;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, value);
    if (text.empty() || parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
    return value;
}

std::optional<std::string> read_text(const std::filesystem::path& path) {
    auto text = read_file(path, 8U << 20);
    if (!text) return std::nullopt;
    return std::move(*text);
}

std::string_view field(std::string_view text, std::string_view key) {
    while (!text.empty()) {
        const std::string_view line = next_line(text);
        const auto colon = line.find(':');
        if (colon != std::string_view::npos && trim(line.substr(0, colon)) == key) return trim(line.substr(colon + 1));
    }
    return {};
}

std::string_view command_line_value(std::string_view command_line, std::string_view key) {
    std::string_view value;
    while (!command_line.empty()) {
        const auto end = command_line.find_first_of(" \t\n");
        const std::string_view word = command_line.substr(0, end);
        command_line = end == std::string_view::npos ? std::string_view{} : command_line.substr(end + 1);
        if (word.size() > key.size() && word.starts_with(key) && word[key.size()] == '=')
            value = word.substr(key.size() + 1);
    }
    return value;
}

}  // namespace kab::guest
