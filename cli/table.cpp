#include "cli/table.h"

#include <algorithm>

#include "common/clock.h"

namespace kab::cli {
namespace {

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

std::string format_table(const TextTable& table) {
    const auto count = table.columns.size();
    std::vector<std::size_t> widths(count);
    for (std::size_t i = 0; i < count; ++i) widths[i] = text_width(table.columns[i]);
    for (const auto& row : table.rows)
        for (std::size_t i = 0; i < count; ++i) widths[i] = std::max(widths[i], text_width(printable(row[i])));
    const auto right = [&](std::size_t i) { return i < table.right.size() && table.right[i]; };

    std::string text, rule;
    for (std::size_t i = 0; i < count; ++i) {
        append_padded(text, table.columns[i], widths[i], right(i), i + 1 == count);
        append_padded(rule, std::string(widths[i], '-'), widths[i], false, i + 1 == count);
    }
    text += "\n" + rule + "\n";
    for (const auto& row : table.rows) {
        for (std::size_t i = 0; i < count; ++i)
            append_padded(text, printable(row[i]), widths[i], right(i), i + 1 == count);
        text += "\n";
    }
    return text;
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

}  // namespace kab::cli
