#include "agent/guest/init.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>

#include "agent/guest/console.h"
#include "agent/guest/text.h"
#include "common/result.h"

namespace kab::guest {
namespace {

struct Mount {
    const char* type;
    const char* target;
    const char* options;
};

constexpr Mount mounts[] = {
    {"proc", "/proc", ""},
    {"sysfs", "/sys", ""},
    {"devtmpfs", "/dev", "mode=0755"},
    {"tmpfs", "/tmp", "mode=1777"},
    {"tmpfs", "/dev/shm", "mode=1777"},
};

std::string error_text(const std::string& action) {
    return fail_errno(errno, action).value().text();
}

void mount_all(std::vector<std::string>& problems) {
    for (const Mount& mount : mounts) {
        if (::mkdir(mount.target, 0755) != 0 && errno != EEXIST) {
            problems.push_back(error_text(fmt::format("mkdir {}", mount.target)));
            continue;
        }
        // EBUSY: already mounted there, by the kernel or by whoever made the initramfs.
        if (::mount(mount.type, mount.target, mount.type, MS_NOSUID, mount.options) != 0 && errno != EBUSY)
            problems.push_back(error_text(fmt::format("mount {} on {}", mount.type, mount.target)));
    }
}

/// An initramfs without /dev/console starts init without standard descriptors.
void open_console(std::vector<std::string>& problems) {
    const char* const places[] = {"/dev/console", "/dev/null"};
    for (const char* place : places) {
        const int fd = ::open(place, O_RDWR | O_NOCTTY);
        if (fd < 0) {
            problems.push_back(error_text(fmt::format("open {}", place)));
            continue;
        }
        for (int standard = 0; standard <= 2; ++standard)
            if (fd != standard && ::dup2(fd, standard) < 0) problems.push_back(error_text("dup2"));
        if (fd > 2) ::close(fd);
        return;
    }
}

/// Reaps every process until `child` has ended; `status` gets its wait status. False when it cannot be had.
bool wait_for_child(pid_t child, int& status) {
    for (;;) {
        int any = 0;
        const pid_t pid = ::waitpid(-1, &any, 0);
        if (pid == child) {
            status = any;
            return true;
        }
        if (pid < 0 && errno != EINTR) return false;
    }
}

/// Ends whatever the child left, so that nobody holds the channel any more.
void end_all_others() {
    ::kill(-1, SIGKILL);
    while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) continue;
}

[[noreturn]] void take_machine_down() {
    const auto command_line = read_text("/proc/cmdline").value_or("");
    const bool power_off = command_line_value(command_line, "kab.off") == "poweroff";
    ::reboot(power_off ? RB_POWER_OFF : RB_AUTOBOOT);
    say(error_text("reboot"));
    for (;;) ::pause();  // returning would make the kernel panic, which would be taken for its fault
}

}  // namespace

void run_as_init(const std::function<Ending(const std::vector<std::string>& problems)>& work,
                 const std::function<void(const std::string& text)>& last_words) {
    std::vector<std::string> problems;
    mount_all(problems);
    open_console(problems);
    for (const auto& problem : problems) say(problem);

    ::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
        ::setsid();
        ::_exit(static_cast<int>(work(problems)));
    }
    std::string trouble;
    if (child < 0) {
        trouble = error_text("fork of the agent");
    } else {
        int status = 0;
        if (!wait_for_child(child, status))
            trouble = error_text("wait for the agent");
        else if (!WIFEXITED(status) || WEXITSTATUS(status) >= static_cast<int>(Ending::unheard))
            trouble = fmt::format("the agent {}", describe_exit(status));
    }
    if (!trouble.empty()) {
        say(trouble);
        end_all_others();
        last_words(trouble);
    }
    take_machine_down();
}

}  // namespace kab::guest
