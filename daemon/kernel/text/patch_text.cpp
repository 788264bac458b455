#include "daemon/kernel/text/patch_text.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "daemon/kernel/text/lines.h"

namespace kab::kernel {
namespace {

bool starts_with(std::string_view text, std::string_view prefix) {
    return text.substr(0, prefix.size()) == prefix;
}

tl::unexpected<Error> bad(const std::string& where, std::string message) {
    return tl::unexpected(Error{Fault::spec, std::move(message), where});
}

/// A line that only a diff has.
bool is_diff_line(std::string_view line) {
    return starts_with(line, "diff --git ") || starts_with(line, "--- ") || starts_with(line, "+++ ") ||
           starts_with(line, "@@ ");
}

/// An encoding in which a diff cannot be read as it stands.
bool is_encoded_mail(const std::string& text) {
    std::string lower = text;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return is_mail(text) && lower.find("content-transfer-encoding: base64") != std::string::npos;
}

Result<SeriesLine> parse_series_line(const std::string& line, const std::string& where) {
    SeriesLine result;
    result.where = where;
    std::istringstream words(line);
    std::string word;
    while (words >> word && word.front() != '#') {
        if (result.file.empty()) {
            const auto relative = std::filesystem::path(word).lexically_normal();
            if (relative.is_absolute() || *relative.begin() == "..") return bad(where, word + " lies outside");
            result.file = relative.string();
        } else if (starts_with(word, "-p") && word.size() == 3 && word[2] >= '0' && word[2] <= '9') {
            result.strip = word[2] - '0';
        } else {
            return bad(where, "'" + word + "' is not understood here (expected: FILE [-pN] [# comment])");
        }
    }
    return result;
}

}  // namespace

bool holds_diff(const std::string& text) {
    const auto lines = split_lines(text);
    return std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
        return starts_with(line, "diff --git ") || starts_with(line, "@@ -");
    });
}

bool is_mail(const std::string& text) {
    if (starts_with(text, "From ")) return true;
    return !find_header(text, "From: ").empty() && !find_header(text, "Subject: ").empty();
}

std::string find_header(const std::string& text, std::string_view name) {
    for (const auto& line : split_lines(text)) {
        if (is_diff_line(line)) break;
        if (!starts_with(line, name)) continue;
        std::string value = line.substr(name.size());
        value.erase(0, value.find_first_not_of(' '));
        if (const auto end = value.find("] "); starts_with(value, "[") && end != std::string::npos) {
            value.erase(0, end + 2);
        }
        return value;
    }
    return {};
}

Status check_line_ends(const std::string& path, const std::string& text) {
    const auto lines = split_lines(text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (!is_diff_line(lines[i]) || lines[i].back() != '\r') continue;
        return bad(path + ":" + std::to_string(i + 1), "has CRLF line endings; convert with dos2unix");
    }
    return {};
}

Status check_patch(const std::string& path, const std::string& text) {
    if (auto checked = check_line_ends(path, text); !checked) return checked;
    if (!holds_diff(text) && !is_encoded_mail(text)) return bad(path, "holds no diff");
    return {};
}

Result<std::vector<SeriesLine>> parse_series(const std::string& path, const std::string& text) {
    std::vector<SeriesLine> series;
    const auto lines = split_lines(text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        auto line = parse_series_line(lines[i], path + ":" + std::to_string(i + 1));
        if (!line) return pass(line);
        if (!line->file.empty()) series.push_back(std::move(*line));
    }
    if (series.empty()) return bad(path, "names no patch");
    return series;
}

}  // namespace kab::kernel
