#pragma once
// PID 1 of a generated initramfs: prepares the machine, has the agent's work done in a child
// process, and takes the machine down whatever happens.
#include <functional>
#include <string>
#include <vector>

#include "agent/guest/ending.h"

namespace kab::guest {

/// Must be called as PID 1. Mounts /proc, /sys, /dev, /tmp and /dev/shm, then runs `work` in a child
/// process with what went wrong so far (one line each). Work is in a child so that its death by a
/// signal does not look like a panic of the kernel under test, and so that orphans come to PID 1
/// rather than to a workload's wait(). Orphans are reaped. When the child dies by a signal,
/// or with Ending::unheard, everything else is killed and `last_words` gets a line to tell the
/// host. Ends with a reboot, or power-off if the kernel command line has kab.off=poweroff.
[[noreturn]] void run_as_init(const std::function<Ending(const std::vector<std::string>& problems)>& work,
                              const std::function<void(const std::string& text)>& last_words);

}  // namespace kab::guest
