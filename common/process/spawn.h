#pragma once
// fork and exec, done by hand: the one place of kab where a process is started.
//
// Boost.Process 1.81's launchers run Asio's fork hooks in the child and, after a failed exec, static
// destructors; a hook that throws leaves a second copy of the parent running. Here the child does
// nothing but async-signal-safe calls between fork and exec. (Waiting is the library's: see child.cpp.)
#include <sys/types.h>

#include "common/process/spec.h"

namespace kab {

/// A started process and this side of its pipes (non-blocking, close-on-exec).
struct Spawned {
    pid_t pid = -1;
    UniqueFd in, out, err;  ///< where the spec says pipe
    UniqueFd lifeline;      ///< supervised only: closing it kills the whole tree
};

/// Fault::not_found when the program (or kab-supervise) is not there or cannot be executed, Fault::io
/// otherwise. The caller must reap pid.
Result<Spawned> spawn(const ProcessSpec& spec);

}  // namespace kab
