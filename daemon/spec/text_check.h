#pragma once
// Looks at raw text before a YAML library does.
#include <optional>
#include <string>
#include <string_view>

namespace kab::yaml {

struct TextRefusal {
    int line = 1, column = 1;
    std::string message;
};

/// Refuses what is not UTF-8 text, control characters, and brackets nested beyond all reason
/// (a file of nothing but `[` costs the scanner much time). One pass, no recursion.
std::optional<TextRefusal> check_text(std::string_view text);

/// One line without control characters: no byte below 0x20, not 0x7f.
bool is_plain_line(std::string_view text);

/// The number grammar of JSON: no leading zeros, no plus, no underscores, no hexadecimals.
bool is_json_number(std::string_view text);

}  // namespace kab::yaml
