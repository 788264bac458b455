#include "daemon/kernel/toolchain.h"

#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <thread>

namespace kab::kernel {
namespace {

struct Tool {
    const char* program;
    const char* package;
    bool in_key;            ///< decides the code
    bool optional = false;  ///< used where the configuration wants it
};

constexpr std::array tools = {
    Tool{"gcc", "gcc", true},         Tool{"as", "binutils", true},          Tool{"ld", "binutils", true},
    Tool{"make", "make", false},      Tool{"flex", "flex", false},           Tool{"bison", "bison", false},
    Tool{"bc", "bc", false},          Tool{"perl", "perl", false},           Tool{"gzip", "gzip", false},
    Tool{"strip", "binutils", false}, Tool{"pahole", "dwarves", true, true},  // makes BTF
};

}  // namespace

Result<std::string> find_toolchain() {
    std::string text;
    for (const auto& [program, package, in_key, optional] : tools) {
        if (!find_executable(program)) {
            if (optional) continue;
            return fail(Fault::build, "{} is needed to build kernels and not installed: apt-get install {}", program,
                        package);
        }
        if (!in_key) continue;
        auto shown = run_checked({.program = program, .args = {"--version"}, .environment = {{"LC_ALL", "C"}}});
        if (!shown) return pass(shown);
        text += (text.empty() ? "" : "\n") + shown->out.substr(0, shown->out.find('\n'));
    }
    return text;
}

Result<std::string> find_architecture() {
    utsname names{};
    if (::uname(&names) != 0) return fail_errno(errno, "uname");
    const std::string machine = names.machine;
    if (machine != "x86_64") return fail(Fault::build, "kernels can be built on x86_64 only, this is {}", machine);
    return machine;
}

unsigned parallel_jobs() {
    return std::max(1U, std::thread::hardware_concurrency());
}

ProcessSpec make_command(const fs::path& source, const fs::path& output, const fs::path& temporary,
                         std::vector<std::string> args) {
    ProcessSpec spec;
    spec.program = "make";
    spec.args = {"-C", source.string(), "O=" + output.string(), "LOCALVERSION="};
    spec.args.insert(spec.args.end(), args.begin(), args.end());
    spec.clear_environment = true;
    spec.environment = {{"LC_ALL", "C"},
                        {"KBUILD_BUILD_TIMESTAMP", "Thu Jan  1 00:00:00 UTC 1970"},
                        {"KBUILD_BUILD_USER", "kab"},
                        {"KBUILD_BUILD_HOST", "kab"},
                        {"KBUILD_BUILD_VERSION", "1"},
                        // A home directory that is itself under git is not the kernel's repository.
                        {"TMPDIR", temporary.string()},
                        // Some tools that Kconfig asks for their version write into it (a rustup that is not set up).
                        {"HOME", temporary.string()},
                        {"GIT_CEILING_DIRECTORIES", source.parent_path().string()}};
    if (const char* path = std::getenv("PATH")) spec.environment.emplace_back("PATH", path);
    spec.err = Output::same_as_stdout();
    return spec;
}

}  // namespace kab::kernel
