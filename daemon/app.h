#pragma once
// The daemon put together: the only place where kabd's parts meet.
#include <cstdint>
#include <string>

#include "common/paths.h"
#include "common/result.h"

namespace kab {

struct AppOptions {
    Paths paths;
    fs::path socket;          ///< empty: paths.socket()
    bool is_private = false;  ///< started by the CLI: ends after idle_seconds without work or connections
    int idle_seconds = 60;
    int ready_fd = -1;  ///< "ready\n" or one line of error is written here, then it is closed
};

/// Runs the daemon until SIGTERM, SIGINT, a shutdown request or idle time. The exit code: 0 after an orderly
/// end, 3 after a fault. Fault::conflict when another daemon has the state directory.
Result<int> run_daemon(const AppOptions& options);

}  // namespace kab
