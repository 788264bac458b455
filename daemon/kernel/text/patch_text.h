#pragma once
// Patches and series as text: what can be said of them without the source they are for. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace kab::kernel {

bool holds_diff(const std::string& text);

/// A mailbox, or one mail as a mail program saves it.
bool is_mail(const std::string& text);

/// "Subject: [PATCH 1/2] x" -> "x" for the name "Subject: "; empty if there is none before the diff.
std::string find_header(const std::string& text, std::string_view name);

/// Fault::spec for CRLF in lines of the diff format, at "path:line". Other lines may have it: files with CRLF may
/// well be patched.
Status check_line_ends(const std::string& path, const std::string& text);

/// Fault::spec for what is surely no patch: no diff in it (a mail may have it encoded), or CRLF line endings.
Status check_patch(const std::string& path, const std::string& text);

struct SeriesLine {
    std::string file;   ///< relative to the series, clean: no "..", no "."
    int strip = 1;      ///< -pN
    std::string where;  ///< "path:line"
};

/// The lines of a quilt series that name a patch: "name.patch [-pN] [# comment]". Fault::spec at "path:line" for
/// another form and for a patch that lies outside; for a series that names none.
Result<std::vector<SeriesLine>> parse_series(const std::string& path, const std::string& text);

}  // namespace kab::kernel
