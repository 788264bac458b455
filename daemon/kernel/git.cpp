#include "daemon/kernel/git.h"

#include <unistd.h>

#include <array>
#include <string_view>

namespace kab::kernel {
namespace {

/// Object lists of a whole kernel tree are some megabytes.
constexpr std::size_t capture_limit = 512U << 20;

bool kept(std::string_view name) {
    constexpr std::array transport = {"GIT_SSH", "GIT_SSH_COMMAND", "GIT_PROXY_COMMAND", "GIT_SSL_CAINFO",
                                      "GIT_SSL_CAPATH"};
    for (const char* allowed : transport) {
        if (name == allowed) return true;
    }
    return name.substr(0, 4) != "GIT_";
}

std::vector<std::pair<std::string, std::string>> inherited() {
    std::vector<std::pair<std::string, std::string>> result;
    for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const auto equals = text.find('=');
        if (equals == std::string_view::npos || !kept(text.substr(0, equals))) continue;
        result.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
    return result;
}

/// Quoted, because a colon separates directories in this variable.
std::string quoted_directory(const fs::path& path) {
    std::string result = "\"";
    for (const char c : path.string()) {
        if (c == '"' || c == '\\') result += '\\';
        result += c;
    }
    return result + '"';
}

/// The first word that is neither -c nor its value.
std::string subcommand(const std::vector<std::string>& args) {
    std::size_t at = 0;
    while (at + 2 < args.size() && args[at] == "-c") at += 2;
    return at < args.size() ? args[at] : "";
}

}  // namespace

ProcessSpec Git::spec(std::vector<std::string> args) const {
    ProcessSpec result;
    result.program = "git";
    result.args = std::move(args);
    result.clear_environment = true;
    result.environment = inherited();
    result.working_directory = directory;
    auto& environment = result.environment;
    const auto set = [&](const char* name, const std::string& value) {
        if (!value.empty()) environment.emplace_back(name, value);
    };
    set("LC_ALL", "C");
    set("GIT_TERMINAL_PROMPT", "0");  // nobody is there to answer
    set("GIT_OPTIONAL_LOCKS", "0");   // looking at a repository must not write to it
    set("GIT_NO_REPLACE_OBJECTS", "1");
    set("GIT_DIR", git_dir.string());
    set("GIT_WORK_TREE", work_tree.string());
    set("GIT_INDEX_FILE", index.string());
    set("GIT_OBJECT_DIRECTORY", objects.string());
    if (!borrowed_objects.empty()) set("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted_directory(borrowed_objects));
    if (!user_configuration) {
        set("GIT_CONFIG_GLOBAL", "/dev/null");
        set("GIT_CONFIG_NOSYSTEM", "1");
        set("GIT_ATTR_NOSYSTEM", "1");
    }
    return result;
}

Result<RunOutput> Git::run(std::vector<std::string> args, std::string input) const {
    ProcessSpec process = spec(std::move(args));
    RunOptions options;
    options.capture_bytes = capture_limit;
    options.limit = limit;
    if (!input.empty()) {
        process.in = ProcessSpec::Input::pipe;
        options.input = std::move(input);
    }
    return run_process(process, options);
}

Result<std::string> Git::text(std::vector<std::string> args, std::string input) const {
    const std::string what = subcommand(args);
    auto done = run(std::move(args), std::move(input));
    if (!done) return pass(done);
    if (!done->status.ok()) {
        if (tells_full_disk(done->err)) return fail(Fault::io, "disk full while git writes: free some space");
        return fail(Fault::infra, "git {}: {}", what,
                    done->err.empty() ? to_string(done->status) : first_complaint(done->err));
    }
    std::string out = std::move(done->out);
    while (!out.empty() && out.back() == '\n') out.pop_back();
    return out;
}

std::string first_complaint(const std::string& stderr_text) {
    const auto lines = split_lines(stderr_text);
    for (const auto& line : lines) {
        for (const std::string_view word : {"error: ", "fatal: "}) {
            if (line.rfind(word, 0) == 0) return line.substr(word.size());
        }
    }
    return lines.empty() ? "" : lines.front();
}

bool tells_full_disk(std::string_view text) {
    for (const char* words : {"No space left on device", "Out of diskspace", "Disk quota exceeded"}) {
        if (text.find(words) != std::string_view::npos) return true;
    }
    return false;
}

bool tells_damage(std::string_view text) {
    for (const char* words :
         {"corrupt", "inflate: ", "unable to unpack", "unable to read", "unable to find", "bad object", "bad file",
          "missing blob", "missing tree", "object file", "packfile", "not a git repository", "failed to read object"}) {
        if (text.find(words) != std::string_view::npos) return true;
    }
    return false;
}

}  // namespace kab::kernel
