#include "cli/table.h"

#include <algorithm>

#include "common/clock.h"

namespace kab::cli {
namespace {

constexpr std::size_t least_column = 8;  // of one that yields

bool continues(char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

std::string printable(const Cell& cell) {
    if (!cell) return "-";
    std::string text = *cell;
    for (char& c : text)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = c == '\n' || c == '\t' ? ' ' : '?';
    return text;
}

std::string csv_field(const Cell& cell) {
    if (!cell) return "";
    if (!cell->empty() && cell->find_first_of("\",\n\r") == std::string::npos) return *cell;
    std::string quoted = "\"";
    for (const char c : *cell) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    return quoted + '"';
}

void append_padded(std::string& line, const std::string& text, std::size_t width, bool right, bool last) {
    const auto pad = width - std::min(width, text_width(text));
    if (right) line.append(pad, ' ');
    line += text;
    if (!right && !last) line.append(pad, ' ');
    if (!last) line += "  ";
}

}  // namespace

std::size_t text_width(const std::string& utf8) {
    return static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) { return !continues(c); }));
}

std::string shorten(const std::string& utf8, std::size_t width) {
    if (text_width(utf8) <= width) return utf8;
    const std::size_t keep = width > 3 ? width - 3 : 0;
    std::size_t columns = 0, end = 0;
    for (; end < utf8.size(); ++end)
        if (!continues(utf8[end]) && ++columns > keep) break;
    return utf8.substr(0, end) + std::string(std::min<std::size_t>(3, width), '.');
}

std::string format_table(const TextTable& table, std::optional<std::size_t> width) {
    const auto count = table.columns.size();
    std::vector<std::size_t> widths(count);
    for (std::size_t i = 0; i < count; ++i) widths[i] = text_width(table.columns[i]);
    for (const auto& row : table.rows)
        for (std::size_t i = 0; i < count; ++i) widths[i] = std::max(widths[i], text_width(printable(row[i])));
    if (width && table.yields) {
        std::size_t total = 2 * (count - 1);
        for (const auto one : widths) total += one;
        auto& yielding = widths[*table.yields];
        if (total > *width)
            yielding = std::max(std::min(least_column, yielding), yielding - std::min(yielding, total - *width));
    }
    const auto right = [&](std::size_t i) { return i < table.right.size() && table.right[i]; };

    std::string text, rule;
    for (std::size_t i = 0; i < count; ++i) {
        append_padded(text, shorten(table.columns[i], widths[i]), widths[i], right(i), i + 1 == count);
        append_padded(rule, std::string(widths[i], '-'), widths[i], false, i + 1 == count);
    }
    text += "\n" + rule + "\n";
    for (const auto& row : table.rows) {
        for (std::size_t i = 0; i < count; ++i)
            append_padded(text, shorten(printable(row[i]), widths[i]), widths[i], right(i), i + 1 == count);
        text += "\n";
    }
    return text;
}

std::string format_details(const Details& details, std::size_t width, std::size_t indent) {
    std::size_t names = 0;
    for (const auto& [name, value] : details) names = std::max(names, text_width(name));
    std::string text;
    for (const auto& [name, value] : details) {
        std::string line(indent, ' ');
        append_padded(line, name, names, false, false);
        text += wrap(line + value, width, indent + names + 2) + "\n";
    }
    return text;
}

std::string wrap(const std::string& given, std::size_t width, std::size_t indent) {
    const auto text = printable(given);
    std::string wrapped;
    std::size_t column = 0;
    for (std::size_t begin = 0; begin < text.size();) {
        const auto word = text.find_first_not_of(' ', begin);
        if (word == std::string::npos) break;
        const auto end = std::min(text.find(' ', word), text.size());
        auto gap = word - begin;
        const auto columns = text_width(text.substr(word, end - word));
        // At the beginning of a line nothing is won by another one.
        if (begin > 0 && column > indent && column + gap + columns > width) {
            wrapped += "\n" + std::string(indent, ' ');
            column = indent;
            gap = 0;
        }
        wrapped += std::string(gap, ' ') + text.substr(word, end - word);
        column += gap + columns;
        begin = end;
    }
    return wrapped;
}

std::string format_csv(const TextTable& table) {
    std::string text;
    for (std::size_t i = 0; i < table.columns.size(); ++i) text += (i == 0 ? "" : ",") + csv_field(table.columns[i]);
    text += "\n";
    for (const auto& row : table.rows) {
        for (std::size_t i = 0; i < row.size(); ++i) text += (i == 0 ? "" : ",") + csv_field(row[i]);
        text += "\n";
    }
    return text;
}

std::string format_time(std::optional<std::int64_t> utc_ns) {
    if (!utc_ns) return "-";
    auto text = to_rfc3339(WallTime(Nanoseconds(*utc_ns)));  // 2026-03-01T12:00:00Z
    text[10] = ' ';
    text.pop_back();
    return text;
}

std::string format_minute(std::optional<std::int64_t> utc_ns) {
    return format_time(utc_ns).substr(0, 16);
}

}  // namespace kab::cli
