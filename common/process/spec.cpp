#include "common/process/spec.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace kab {

std::string to_string(const ExitStatus& status) {
    if (status.signal != 0) return fmt::format("signal {} ({})", status.signal, strsignal(status.signal));
    return fmt::format("exit code {}", status.code);
}

namespace {

bool is_executable(const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

Result<fs::path> find_executable(const std::string& program) {
    if (program.find('/') != std::string::npos) {
        if (is_executable(program)) return fs::path(program);
        std::error_code ignored;
        return fail(Fault::not_found, "cannot run {}: {}", program,
                    fs::exists(program, ignored) ? "not an executable file" : "no such file");
    }
    const char* variable = std::getenv("PATH");
    std::string_view rest = variable != nullptr ? variable : "/usr/local/bin:/usr/bin:/bin";
    while (!rest.empty()) {
        const auto colon = rest.find(':');
        const fs::path directory = rest.substr(0, colon);
        if (!directory.empty() && is_executable(directory / program)) return directory / program;
        rest = colon == std::string_view::npos ? std::string_view{} : rest.substr(colon + 1);
    }
    return fail(Fault::not_found, "cannot run {}: not found in PATH", program);
}

}  // namespace kab
