#include <algorithm>
#include <charconv>
#include <sstream>

#include "daemon/kernel/patch_set.h"

namespace kab::kernel {
namespace {

bool starts_with(std::string_view text, std::string_view prefix) {
    return text.substr(0, prefix.size()) == prefix;
}

tl::unexpected<Error> bad(const std::string& where, std::string message, Fault fault = Fault::spec) {
    return tl::unexpected(Error{fault, std::move(message), where});
}

/// A line that only a diff has.
bool is_diff_line(std::string_view line) {
    return starts_with(line, "diff --git ") || starts_with(line, "--- ") || starts_with(line, "+++ ") ||
           starts_with(line, "@@ ");
}

bool holds_diff(const std::string& text) {
    const auto lines = split_lines(text);
    return std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
        return starts_with(line, "diff --git ") || starts_with(line, "@@ -");
    });
}

/// Only lines of the format are looked at: files with CRLF may well be patched.
Status check_line_ends(const std::string& path, const std::string& text) {
    const auto lines = split_lines(text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (!is_diff_line(lines[i]) || lines[i].back() != '\r') continue;
        return bad(path + ":" + std::to_string(i + 1), "has CRLF line endings; convert with dos2unix");
    }
    return {};
}

/// "Subject: [PATCH 1/2] x" -> "x"; empty if there is none before the diff.
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

/// A mailbox, or one mail as a mail program saves it.
bool is_mail(const std::string& text) {
    if (starts_with(text, "From ")) return true;
    return !find_header(text, "From: ").empty() && !find_header(text, "Subject: ").empty();
}

/// Through git's own mail reader: it knows MIME, quoted-printable and character sets.
Result<std::vector<Patch>> split_mails(const std::string& path, int strip, const SourceStore& store) {
    const fs::path mails = store.scratch() / "mails";
    std::error_code error;
    fs::remove_all(mails, error);
    if (auto made = make_directories(mails); !made) return pass(made);
    Git git;
    git.directory = mails;
    auto count_text = git.text({"mailsplit", "-b", "-o" + mails.string(), "--", path});
    if (!count_text) return bad(path, "is no mailbox: " + count_text.error().message);
    int count = 0;
    std::from_chars(count_text->data(), count_text->data() + count_text->size(), count);
    std::vector<Patch> patches;
    for (int i = 1; i <= count; ++i) {
        auto mail = read_file(mails / fmt::format("{:04}", i));
        if (!mail) return pass(mail);
        auto headers = git.text({"mailinfo", "message", "patch"}, *mail);
        if (!headers) return bad(path, fmt::format("mail {} cannot be read: {}", i, headers.error().message));
        auto text = read_file(mails / "patch");
        if (!text) return pass(text);
        if (!holds_diff(*text)) continue;  // a cover letter
        std::string name = fs::path(path).filename().string();
        if (count > 1) name += fmt::format(" (mail {})", i);
        patches.push_back({std::move(name), find_header(*headers, "Subject: "), std::move(*text), strip});
    }
    return patches;
}

Result<std::vector<Patch>> load_file(const std::string& path, int strip, const SourceStore& store) {
    auto text = read_file(path);
    if (!text) return pass(text);
    if (auto checked = check_line_ends(path, *text); !checked) return pass(checked);
    std::vector<Patch> patches;
    if (is_mail(*text)) {
        auto mails = split_mails(path, strip, store);
        if (!mails) return mails;
        patches = std::move(*mails);
    } else if (holds_diff(*text)) {
        std::string subject = find_header(*text, "Subject: ");
        if (subject.empty()) subject = find_header(*text, "Description: ");
        patches.push_back({fs::path(path).filename().string(), subject, std::move(*text), strip});
    }
    if (patches.empty()) return bad(path, "holds no diff");
    return patches;
}

struct SeriesLine {
    std::string file;
    int strip = 1;
};

/// "name.patch [-pN] [# comment]"; file empty for a line without a patch.
Result<SeriesLine> parse_series_line(const std::string& line, const std::string& where) {
    SeriesLine result;
    std::istringstream words(line);
    std::string word;
    while (words >> word && word.front() != '#') {
        if (result.file.empty()) {
            result.file = word;
        } else if (starts_with(word, "-p") && word.size() == 3 && word[2] >= '0' && word[2] <= '9') {
            result.strip = word[2] - '0';
        } else {
            return bad(where, "'" + word + "' is not understood here (expected: FILE [-pN] [# comment])");
        }
    }
    return result;
}

Result<std::vector<Patch>> load_series(const fs::path& directory, const SourceStore& store) {
    const fs::path series = directory / "series";
    std::error_code ignored;
    if (!fs::is_regular_file(series, ignored)) return bad(directory.string(), "holds no file 'series'");
    auto text = read_file(series);
    if (!text) return pass(text);
    std::vector<Patch> patches;
    const auto lines = split_lines(*text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::string where = series.string() + ":" + std::to_string(i + 1);
        auto line = parse_series_line(lines[i], where);
        if (!line) return pass(line);
        if (line->file.empty()) continue;
        const fs::path relative = fs::path(line->file).lexically_normal();
        if (relative.is_absolute() || *relative.begin() == "..") return bad(where, line->file + " lies outside");
        if (!fs::is_regular_file(directory / relative, ignored)) {
            return bad(where, "no such patch: " + line->file, Fault::not_found);
        }
        auto loaded = load_file((directory / relative).string(), line->strip, store);
        if (!loaded) return loaded;
        std::move(loaded->begin(), loaded->end(), std::back_inserter(patches));
    }
    if (patches.empty()) return bad(series.string(), "names no patch");
    return patches;
}

}  // namespace

Result<std::vector<Patch>> load_patches(const std::vector<std::string>& paths, const SourceStore& store) {
    std::vector<Patch> patches;
    for (const auto& path : paths) {
        std::error_code ignored;
        if (!fs::exists(path, ignored)) return bad(path, "no such patch", Fault::not_found);
        auto loaded = fs::is_directory(path, ignored) ? load_series(path, store) : load_file(path, 1, store);
        if (!loaded) return loaded;
        std::move(loaded->begin(), loaded->end(), std::back_inserter(patches));
    }
    return patches;
}

}  // namespace kab::kernel
