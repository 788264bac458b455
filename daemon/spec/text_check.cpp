#include "daemon/spec/text_check.h"

#include <fmt/core.h>

#include <algorithm>

#include "daemon/spec/yaml.h"

namespace kab::yaml {
namespace {

constexpr int max_brackets = 1000;  // brackets in comments and quotes count, so this is generous

/// Bytes of the UTF-8 sequence at the start of `text`; 0 when it is not valid.
std::size_t utf8_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = byte(0);
    if (lead < 0x80) return 1;
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0U) != 0x80U) return 0;
    }
    const bool overlong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
    const bool surrogate = lead == 0xed && byte(1) >= 0xa0;
    const bool too_large = lead == 0xf4 && byte(1) >= 0x90;
    return overlong || surrogate || too_large ? 0 : length;
}

std::size_t skip_digits(std::string_view text, std::size_t at) {
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
    return at;
}

}  // namespace

std::optional<TextRefusal> check_text(std::string_view text) {
    int line = 1, column = 1, brackets = 0;
    for (std::size_t at = 0; at < text.size();) {
        const char c = text[at];
        const std::size_t length = utf8_length(text.substr(at));
        if (length == 0) {
            return TextRefusal{line, column, "not UTF-8 text: is this a YAML file?"};
        }
        const bool control = (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f;
        if (control) {
            return TextRefusal{line, column,
                               fmt::format("a control character (byte {}): is this a YAML file?", static_cast<int>(c))};
        }
        if (c == '[' || c == '{') ++brackets;
        if ((c == ']' || c == '}') && brackets > 0) --brackets;
        if (brackets > max_brackets) {
            return TextRefusal{line, column, fmt::format("nested more than {} levels deep", max_depth)};
        }
        at += length;
        ++column;
        if (c == '\n') {
            ++line;
            column = 1;
        }
    }
    return std::nullopt;
}

bool is_plain_line(std::string_view text) {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; });
}

bool is_json_number(std::string_view text) {
    std::size_t at = text.starts_with('-') ? 1 : 0;
    const std::size_t whole = at;
    at = skip_digits(text, at);
    if (at == whole || (text[whole] == '0' && at > whole + 1)) return false;
    if (at < text.size() && text[at] == '.') {
        const std::size_t fraction = ++at;
        at = skip_digits(text, at);
        if (at == fraction) return false;
    }
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
        ++at;
        if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
        const std::size_t exponent = at;
        at = skip_digits(text, at);
        if (at == exponent) return false;
    }
    return at == text.size();
}

std::string shown(std::string_view text) {
    constexpr std::size_t longest = 60;
    std::string out = "'";
    std::size_t at = 0;
    while (at < text.size() && at < longest) {
        const std::size_t length = utf8_length(text.substr(at));
        const char c = text[at];
        if (length == 0 || static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
            ++at;
        } else {
            out += text.substr(at, length);
            at += length;
        }
    }
    return out + (at < text.size() ? "...'" : "'");
}

std::string describe(const Node& node) {
    switch (node.type) {
        case Type::null: return "nothing";
        case Type::boolean: return node.written;
        case Type::number: return "the number " + node.written.substr(0, 40);
        case Type::text: return "text " + shown(node.written);
        case Type::list: return "a list";
        case Type::map: return "a map";
    }
    return "something else";
}

}  // namespace kab::yaml
