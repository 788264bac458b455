#pragma once
// PID 1 of a generated initramfs: prepares the machine, has the agent's work done in a child
// process, and takes the machine down whatever happens.
#include <functional>
#include <string>
#include <vector>

namespace kab::guest {

/// How the work ended.
enum class Verdict {
    done = 0,        ///< every run was carried out and AgentDone sent
    reported = 1,    ///< stopped early; the host was told by AgentError
    unreported = 2,  ///< stopped early, and the host could not be told
};

/// Must be called as PID 1. Mounts /proc, /sys, /dev, /tmp and /dev/shm, then runs `work` in a child
/// process with what went wrong so far (one line each). Work is in a child so that its death by a
/// signal does not look like a panic of the kernel under test, and so that orphans come to PID 1
/// rather than to a workload's wait(). Orphans are reaped. When the child dies without a verdict,
/// or with Verdict::unreported, everything else is killed and `last_words` gets a line to tell the
/// host. Ends with a reboot, or power-off if the kernel command line has kab.off=poweroff.
[[noreturn]] void run_as_init(const std::function<Verdict(const std::vector<std::string>& problems)>& work,
                              const std::function<void(const std::string& text)>& last_words);

}  // namespace kab::guest
