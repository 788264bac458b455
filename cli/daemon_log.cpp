#include "cli/daemon_log.h"

#include <fstream>
#include <sstream>

namespace kab::cli {
namespace {

constexpr std::uintmax_t longest = 256U << 10;

/// "2026-03-01T12:00:00.000 error TEXT": TEXT, if it is of that level.
std::string text_of(const std::string& line, const std::string& level) {
    const auto space = line.find(' ');
    if (space == std::string::npos || line.compare(space + 1, level.size() + 1, level + " ") != 0) return {};
    return line.substr(space + level.size() + 2);
}

}  // namespace

void DaemonLog::skip() {
    std::error_code error;
    from_ = fs::file_size(path_, error);
    if (error) from_ = 0;
}

std::string DaemonLog::text() const {
    std::error_code error;
    const auto size = fs::file_size(path_, error);
    if (error || size <= from_) return {};
    std::ifstream file(path_, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(size - from_ > longest ? size - longest : from_));
    std::ostringstream read;
    read << file.rdbuf();
    return read.str();
}

std::string DaemonLog::complaint() const {
    std::istringstream lines(text());
    std::string critical, error;
    for (std::string line; std::getline(lines, line);) {
        if (auto found = text_of(line, "critical"); !found.empty()) critical = std::move(found);
        if (auto found = text_of(line, "error"); !found.empty()) error = std::move(found);
    }
    return critical.empty() ? error : critical;
}

std::string DaemonLog::last_line() const {
    std::istringstream lines(text());
    std::string last;
    for (std::string line; std::getline(lines, line);)
        if (!line.empty()) last = line;
    return last;
}

}  // namespace kab::cli
