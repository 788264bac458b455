#pragma once
// Text tables, and CSV.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kab::cli {

using Cell = std::optional<std::string>;  ///< absent: NULL

struct TextTable {
    std::vector<std::string> columns;
    std::vector<bool> right;  ///< aligned right (numbers); missing: left
    std::vector<std::vector<Cell>> rows;
};

/// Columns padded to their widest cell, two spaces between, a rule under the head. Control characters are
/// shown as '?': a cell never breaks its line. Absent cells are "-".
std::string format_table(const TextTable& table);

/// RFC 4180 with '\n' line ends; absent cells are empty, empty texts are "".
std::string format_csv(const TextTable& table);

/// Width on a terminal, taking every code point as one column.
std::size_t text_width(const std::string& utf8);
/// At most `width` columns; a cut is marked by "...".
std::string shorten(const std::string& utf8, std::size_t width);
/// "2026-03-01 12:00:00" UTC; "-" when absent.
std::string format_time(std::optional<std::int64_t> utc_ns);

}  // namespace kab::cli
