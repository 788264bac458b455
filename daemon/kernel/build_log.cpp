#include "daemon/kernel/build_log.h"

#include <array>

#include "daemon/kernel/git.h"

namespace kab::kernel {
namespace {

bool contains(std::string_view line, std::string_view part) {
    return line.find(part) != std::string_view::npos;
}

/// "file:12:3: error: ...", "gcc: fatal error: ...".
bool is_compiler_error(std::string_view line) {
    return contains(line, ": error: ") || contains(line, ": fatal error: ") ||
           contains(line, ": internal compiler error: ");
}

/// Of the assembler, the linker, the shell, modpost, objtool, Kconfig.
bool is_tool_error(std::string_view line) {
    constexpr std::array parts = {
        ": Error: ", ": undefined reference to ", "ld: ", "ERROR: ", ": not found", "error: ", "FAILED ", "Error: ",
        "Killed"};
    if (line.substr(0, 4) == "make" || contains(line, ": in function `")) return false;  // the next line says what
    for (const char* part : parts) {
        if (contains(line, part)) return !contains(line, "warning: ");
    }
    return false;
}

/// "   12 |     return perror("No space left on device");": the compiler quotes the source.
bool is_quoted_source(std::string_view line) {
    const auto bar = line.find('|');
    return bar != std::string_view::npos && line.substr(0, bar).find_first_not_of(" 0123456789") == std::string::npos;
}

/// The kernel's makefiles and Kconfig frame what they have to say: "***", "*** The source tree is not clean, ...".
bool is_framed_error(std::string_view line) {
    return line.substr(0, 4) == "*** " && !contains(line, "Default configuration is based on");
}

bool is_step(std::string_view line, std::string_view step) {
    return line.substr(0, 2) == "  " && line.substr(2, step.size()) == step && line.substr(2 + step.size(), 1) == " ";
}

std::string shortened(std::string_view line, const std::string& source) {
    std::string text(line);
    const std::string prefix = source + "/";
    for (auto at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at))
        text.erase(at, prefix.size());
    return text;
}

}  // namespace

void BuildLog::add(std::string_view line) {
    if (is_step(line, "CC") || is_step(line, "AS")) {
        ++objects_;
    } else if (is_step(line, "LD") && (line.ends_with(" vmlinux.o") || line.ends_with(" vmlinux"))) {
        linking_ = true;
    } else if (contains(line, ": warning: ")) {
        ++warnings_;
    }
    if (is_quoted_source(line)) return;
    if (tells_full_disk(line)) full_disk_ = true;
    if (compiler_error_.empty() && is_compiler_error(line)) {
        compiler_error_ = shortened(line, source_);
    } else if (tool_error_.empty() && (is_tool_error(line) || is_framed_error(line))) {
        tool_error_ = shortened(line, source_);
    } else if (make_error_.empty() && contains(line, ": *** ")) {  // "Makefile:12: *** ..." is of $(error ...)
        make_error_ = shortened(line, source_);
    }
}

std::string BuildLog::first_error() const {
    if (!compiler_error_.empty()) return compiler_error_;
    return tool_error_.empty() ? make_error_ : tool_error_;
}

}  // namespace kab::kernel
