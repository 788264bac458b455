#pragma once
// Two ends for a process and its children; a closed end is often all the message there is.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "common/files.h"

namespace kab::guest {

struct Pipe {
    UniqueFd read, write;

    /// Both ends are closed by exec, not by fork.
    static Result<Pipe> make() {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno(errno, "pipe");
        return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
    }
};

}  // namespace kab::guest
