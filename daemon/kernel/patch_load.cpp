#include <algorithm>
#include <charconv>

#include "daemon/kernel/patch_set.h"
#include "daemon/kernel/text/patch_text.h"

namespace kab::kernel {
namespace {

tl::unexpected<Error> bad(const std::string& where, std::string message, Fault fault = Fault::spec) {
    return tl::unexpected(Error{fault, std::move(message), where});
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
        if (!holds_diff(*text)) continue;                           // a cover letter
        if (auto checked = check_line_ends(path, *text); !checked)  // the mail's encoding hid them until now
            return bad(path, fmt::format("mail {} {}", i, checked.error().message));
        std::string name = fs::path(path).filename().string();
        if (count > 1) name += fmt::format(" (mail {})", i);
        patches.push_back({std::move(name), find_header(*headers, "Subject: "), std::move(*text), strip});
    }
    return patches;
}

Result<std::vector<Patch>> load_file(const std::string& path, int strip, const SourceStore& store) {
    auto text = read_file(path);
    if (!text) return pass(text);
    if (auto checked = check_patch(path, *text); !checked) return pass(checked);
    std::vector<Patch> patches;
    if (is_mail(*text)) {
        auto mails = split_mails(path, strip, store);
        if (!mails) return mails;
        patches = std::move(*mails);
    } else {
        std::string subject = find_header(*text, "Subject: ");
        if (subject.empty()) subject = find_header(*text, "Description: ");
        patches.push_back({fs::path(path).filename().string(), subject, std::move(*text), strip});
    }
    if (patches.empty()) return bad(path, "holds no diff");
    return patches;
}

Result<std::vector<Patch>> load_series(const fs::path& directory, const SourceStore& store) {
    const fs::path series = directory / "series";
    std::error_code ignored;
    if (!fs::is_regular_file(series, ignored)) return bad(directory.string(), "holds no file 'series'");
    auto text = read_file(series);
    if (!text) return pass(text);
    auto lines = parse_series(series, *text);
    if (!lines) return pass(lines);
    std::vector<Patch> patches;
    for (const auto& line : *lines) {
        const fs::path file = directory / line.file;
        if (!fs::is_regular_file(file, ignored))
            return bad(line.where, "no such patch: " + line.file, Fault::not_found);
        auto loaded = load_file(file, line.strip, store);
        if (!loaded) return loaded;
        std::move(loaded->begin(), loaded->end(), std::back_inserter(patches));
    }
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
