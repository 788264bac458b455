// kabd: parses and wires, nothing else.
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>
#include <string>

#include "daemon/app.h"
#include "daemon/fault/fault_point.h"

namespace {

int exit_code(kab::Fault fault) {
    return fault == kab::Fault::usage || fault == kab::Fault::spec ? 2 : 3;
}

#ifdef KAB_FAULT_POINTS
void list_fault_points(std::int64_t) {
    for (const auto& point : kab::fault_points) fmt::print("{}\t{}\n", point.name, point.when);
    std::exit(0);
}

/// For the test that kills kabd at the first and at the last passing.
void tell_passings() {
    for (std::size_t i = 0; i < kab::fault_points.size(); ++i)
        spdlog::info("fault point {} passed {} times", kab::fault_points[i].name, kab::fault_point_passings(i));
}
#endif

}  // namespace

int main(int argc, char** argv) {
    kab::AppOptions options;
    std::string state, cache, socket, level = "info";
    CLI::App cli{"kabd: the kab coordinator daemon. Takes experiments, builds and boots kernels, keeps the results.",
                 "kabd"};
    cli.set_version_flag("--version", std::string("kabd ") + KAB_VERSION);
    cli.add_option("--state-dir", state, "database, artifacts, socket (default: $KAB_STATE_DIR or ~/.local/state/kab)");
    cli.add_option("--cache-dir", cache, "sources and kernels (default: $KAB_CACHE_DIR or ~/.cache/kab)");
    cli.add_option("--socket", socket, "unix socket to serve (default: kabd.sock in the state directory)");
    cli.add_flag("--private", options.is_private, "end when idle, and when asked by POST /v1/shutdown");
    cli.add_option("--idle", options.idle_seconds, "with --private: seconds without work before the end")
        ->check(CLI::Range(1, 86400))
        ->capture_default_str();
    cli.add_option("--ready-fd", options.ready_fd, "descriptor to write `ready` or an error line to");
    cli.add_option("--log-level", level, "trace, debug, info, warn, error")
        ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error"}))
        ->capture_default_str();
#ifdef KAB_FAULT_POINTS
    cli.add_flag_function("--fault-points", list_fault_points, "list the names for KAB_FAULT_POINT and end");
#endif
    CLI11_PARSE(cli, argc, argv);

    spdlog::set_level(spdlog::level::from_str(level));
    spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %v");
    std::signal(SIGPIPE, SIG_IGN);  // a vanished peer is an error of the write
    if (!state.empty()) setenv("KAB_STATE_DIR", state.c_str(), 1);
    if (!cache.empty()) setenv("KAB_CACHE_DIR", cache.c_str(), 1);
    auto paths = kab::Paths::from_environment();
    if (!paths) {
        spdlog::error("{}", paths.error().text());
        return exit_code(paths.error().fault);
    }
    options.paths = *paths;
    options.socket = socket;
#ifdef KAB_FAULT_POINTS
    if (auto armed = kab::arm_fault_point(); !armed) {
        spdlog::error("{}", armed.error().text());
        return exit_code(armed.error().fault);
    }
#endif
    const auto result = kab::run_daemon(options);
#ifdef KAB_FAULT_POINTS
    tell_passings();
#endif
    if (result) return *result;
    spdlog::error("{}", result.error().text());
    return exit_code(result.error().fault);
}
