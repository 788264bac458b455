// The part of console_patterns.h that makes faults comparable between boots.
#include <cctype>

#include "agent/host/console/console_patterns.h"

namespace kab {
namespace {

bool is_digit(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
}
bool is_hex(char c) {
    return std::isxdigit(static_cast<unsigned char>(c)) != 0;
}
bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

constexpr std::size_t shortest_hash = 8;
constexpr std::size_t longest_signature = 160;

/// "+0x1a/0x340" and the like behind a symbol.
std::size_t skip_offset(std::string_view text, std::size_t at) {
    for (const std::string_view introduction : {"+0x", "/0x"}) {
        if (!text.substr(at).starts_with(introduction)) return at;
        at += introduction.size();
        while (at < text.size() && is_hex(text[at])) ++at;
    }
    return at;
}

/// One word of letters, digits and '_' from `at`; appends what stands for it.
std::size_t copy_word(std::string_view text, std::size_t at, bool in_path, std::string& result) {
    std::size_t end = at;
    bool all_hex = true, any_digit = false, all_digits = true;
    while (end < text.size() && is_word(text[end])) {
        all_hex = all_hex && is_hex(text[end]);
        any_digit = any_digit || is_digit(text[end]);
        all_digits = all_digits && is_digit(text[end]);
        ++end;
    }
    const auto word = text.substr(at, end - at);
    if (word.starts_with("0x") && word.size() > 2) {
        result += "X";
    } else if (all_digits && !in_path) {
        result += word.size() >= shortest_hash ? "X" : "N";
    } else if (all_hex && any_digit && word.size() >= shortest_hash) {
        result += "X";
    } else if (is_digit(word.front()) && !in_path) {
        // "22s", "4kB": the unit stays
        std::size_t digits = 0;
        while (digits < word.size() && is_digit(word[digits])) ++digits;
        result += "N";
        result += word.substr(digits);
    } else {
        result += word;
    }
    return end;
}

/// The blank-delimited token at `at` is a source file: its digits are its name ("8250/8250_core.c").
bool is_source_path(std::string_view text, std::size_t at) {
    const auto token = text.substr(at, text.substr(at).find(' '));
    const auto slash = token.find('/');
    return slash != std::string_view::npos &&
           (token.find(".c:") != std::string_view::npos || token.find(".h:") != std::string_view::npos);
}

}  // namespace

std::string normalise_signature(std::string_view description) {
    std::string result;
    bool in_path = false;
    std::size_t at = 0;
    while (at < description.size()) {
        const char c = description[at];
        if (at == 0 || description[at - 1] == ' ') in_path = is_source_path(description, at);
        if (in_path && c == ':') in_path = false;  // what follows is the line
        if (c == '+') {
            const std::size_t after = skip_offset(description, at);
            if (after != at) {
                at = after;
                continue;
            }
        }
        if (is_word(c)) {
            at = copy_word(description, at, in_path, result);
        } else {
            if (c != ' ' || (!result.empty() && result.back() != ' ')) result += c;
            ++at;
        }
    }
    while (!result.empty() && (result.back() == ' ' || result.back() == '!')) result.pop_back();
    if (result.size() > longest_signature) result.resize(longest_signature);
    return result;
}

}  // namespace kab
