#include "agent/guest/console.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "common/files.h"

namespace kab::guest {

void say(const std::string& text) {
    // One write, so that a line of the kernel does not come in between.
    const std::string line = "kab-agent: " + text + "\n";
    if (!write_all(STDERR_FILENO, line)) return;  // there is nowhere left to complain
}

std::string describe_exit(int status) {
    if (!WIFSIGNALED(status)) return fmt::format("exited with status {}", WEXITSTATUS(status));
    const int number = WTERMSIG(status);
    return fmt::format("was killed by signal {} ({})", number, ::strsignal(number));
}

}  // namespace kab::guest
