#pragma once
// Finds a daemon for this state directory, or starts a private one.
#include "cli/client.h"
#include "common/paths.h"
#include "common/result.h"

namespace kab::cli {

/// A daemon of this very version that answers on paths.socket(). With none, a private one is started: detached
/// from this process and its terminal, its output in <state>/kabd.log. An idle private daemon of another version
/// is replaced; one that is busy or was not started by kab is Fault::conflict, which names it. When several do this at
/// a time, one starts the daemon and all use it.
Result<api::Version> ensure_daemon(const Paths& paths);

}  // namespace kab::cli
