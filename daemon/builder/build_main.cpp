// kab-build: resolves and builds kernels for kabd, in a process of its own.
//
//   kab-build freeze REQUEST.json     -> {"type":"result","frozen":{...}}
//   kab-build build FROZEN.json       -> {"type":"result","built":{...}}
//
// Stdout is JSON, one object a line: any number of {"type":"progress","step":...,"done":N,"total":N} (with
// "for":"4711 booting ..." when the step is "waiting" and it is known for whom), then one result or
// {"type":"error","fault":...,"message":...,"where":...,"log":...}. Exit code 0 or 1; 2 for wrong arguments.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "daemon/kernel/kernel.h"

namespace {

using namespace kab;

/// One line, at once. Whoever started us is gone if it cannot be written: then there is nothing left to do.
void print(const Json& message) {
    if (!write_all(STDOUT_FILENO, dump_json(message) + "\n")) std::_Exit(1);
}

/// Every step, but not every object: ten lines a second are enough for people.
class ProgressPrinter {
  public:
    void operator()(const std::string& step, std::int64_t done, std::int64_t total) {
        const auto now = std::chrono::steady_clock::now();
        if (step == step_ && now - printed_ < std::chrono::milliseconds(100)) return;
        step_ = step;
        printed_ = now;
        Json message = {{"type", "progress"}, {"step", step}, {"done", done}, {"total", total}};
        if (step.rfind(waiting_for, 0) == 0) {
            message["step"] = "waiting";
            message["for"] = step.substr(waiting_for.size());
        }
        print(message);
    }

  private:
    static constexpr std::string_view waiting_for = "waiting for ";
    std::string step_;
    std::chrono::steady_clock::time_point printed_;
};

int report(const Error& error, const fs::path& log) {
    std::error_code ignored;
    const bool logged = !log.empty() && fs::exists(log, ignored);
    print({{"type", "error"},
           {"fault", to_string(error.fault)},
           {"message", error.message},
           {"where", error.where},
           {"log", logged ? log.string() : ""}});
    return 1;
}

Result<Json> read_json(const char* path) {
    auto text = read_file(path);
    if (!text) return pass(text);
    return parse_json(*text);
}

int freeze(const Json& json, const Paths& paths) {
    auto request = kernel::request_from_json(json);
    if (!request) return report(request.error(), {});
    auto frozen = kernel::freeze(*request, paths, ProgressPrinter());
    if (!frozen) return report(frozen.error(), {});
    print({{"type", "result"}, {"frozen", kernel::to_json(*frozen)}});
    return 0;
}

int build(const Json& json, const Paths& paths) {
    auto frozen = kernel::frozen_from_json(json);
    if (!frozen) return report(frozen.error(), {});
    auto built = kernel::build(*frozen, paths, ProgressPrinter());
    if (!built) return report(built.error(), kernel::failed_log(paths, frozen->key));
    print({{"type", "result"}, {"built", kernel::to_json(*built)}});
    return 0;
}

int run(bool freezing, const char* file) {
    const auto paths = Paths::from_environment();
    if (!paths) return report(paths.error(), {});
    const auto json = read_json(file);
    if (!json) return report(json.error(), {});
    return freezing ? freeze(*json, *paths) : build(*json, *paths);
}

}  // namespace

int main(int argc, char** argv) {
    const bool freezing = argc == 3 && std::strcmp(argv[1], "freeze") == 0;
    if (!freezing && !(argc == 3 && std::strcmp(argv[1], "build") == 0)) {
        std::fputs("usage: kab-build freeze REQUEST.json | build FROZEN.json\n", stderr);
        return 2;
    }
    std::signal(SIGPIPE, SIG_IGN);
    try {
        return run(freezing, argv[2]);
    } catch (const std::exception& e) {  // a bug, or no memory: told like any other error, not by dying of it
        return report(Error{Fault::internal, std::string("kab-build: ") + e.what(), {}}, {});
    }
}
