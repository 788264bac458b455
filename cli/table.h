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
    std::optional<std::size_t> yields = std::nullopt;  ///< the column that is cut when the table would be too wide
};

/// Columns padded to their widest cell, two spaces between, a rule under the head. Control characters are
/// shown as '?': a cell never breaks its line. Absent cells are "-". `width`: of the whole, as far as a column
/// yields (to 8 columns at least); absent: as wide as it comes.
std::string format_table(const TextTable& table, std::optional<std::size_t> width = std::nullopt);

/// What is too long for a table: each name with its value, wrapped, all values in one column, `indent` spaces before.
using Details = std::vector<std::pair<std::string, std::string>>;
std::string format_details(const Details& details, std::size_t width, std::size_t indent = 0);

/// Broken at spaces into lines of `width` columns at most, the later ones with `indent` spaces before them. A word
/// that is longer stays whole. Control characters are shown as in a table. No line end at the end.
std::string wrap(const std::string& text, std::size_t width, std::size_t indent = 0);

/// RFC 4180 with '\n' line ends; absent cells are empty, empty texts are "".
std::string format_csv(const TextTable& table);

/// Width on a terminal, taking every code point as one column.
std::size_t text_width(const std::string& utf8);
/// At most `width` columns; a cut is marked by "...".
std::string shorten(const std::string& utf8, std::size_t width);
/// "2026-03-01 12:00:00" UTC; "-" when absent.
std::string format_time(std::optional<std::int64_t> utc_ns);
/// Without the seconds: "2026-03-01 12:00".
std::string format_minute(std::optional<std::int64_t> utc_ns);

}  // namespace kab::cli
