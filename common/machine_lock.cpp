#include "common/machine_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace kab {
namespace {

constexpr mode_t everybody = 0666;

/// Opens a lock file that other users may have made, in a directory where all may write: never through
/// a symlink, and without O_CREAT where it exists (the kernel refuses that for files of others).
Result<UniqueFd> open_shared(const fs::path& path) {
    for (int attempt = 0; attempt < 100; ++attempt) {
        for (const int mode : {O_RDWR, O_RDONLY}) {  // of another user with an odd umask: reading is enough to lock
            UniqueFd fd(::open(path.c_str(), mode | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
            if (fd) {
                struct stat status {};
                if (::fstat(fd.get(), &status) != 0) return fail_errno(errno, "stat " + path.string());
                if (!S_ISREG(status.st_mode)) return fail(Fault::io, "{} is not a regular file", path.string());
                return fd;
            }
            if (errno != EACCES && errno != EROFS) break;
        }
        if (errno != ENOENT) return fail_errno(errno, "open " + path.string());
        UniqueFd made(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, everybody));
        if (made) {
            if (::fchmod(made.get(), everybody) != 0) return fail_errno(errno, "chmod " + path.string());
            return made;
        }
        if (errno != EEXIST) return fail_errno(errno, "create " + path.string());
    }
    return fail(Fault::io, "{} comes and goes", path.string());
}

/// True when had, false when another has it and `wait` is not set.
Result<bool> lock(const UniqueFd& fd, const fs::path& path, bool wait) {
    while (::flock(fd.get(), LOCK_EX | (wait ? 0 : LOCK_NB)) != 0) {
        if (errno == EINTR) continue;
        if (errno == EWOULDBLOCK) return false;
        return fail_errno(errno, "lock " + path.string());
    }
    return true;
}

fs::path queue_path() {
    return MachineLock::path().string() + ".queue";
}

/// Only for people: a failure (a full disk) must not keep anybody from working.
void write_holder(const UniqueFd& fd, const std::string& purpose) {
    const std::string text = std::to_string(::getpid()) + " " + purpose;
    if (::ftruncate(fd.get(), 0) == 0) (void)!::pwrite(fd.get(), text.data(), text.size(), 0);
}

}  // namespace

fs::path MachineLock::path() {
    const char* configured = std::getenv("KAB_MACHINE_LOCK");
    if (configured != nullptr && *configured != '\0') return configured;
    const fs::path shared = "/run/lock";
    return (::access(shared.c_str(), W_OK | X_OK) == 0 ? shared : fs::path("/tmp")) / "kab-machine.lock";
}

std::string MachineLock::holder() {
    auto text = read_file(path(), 4096);
    if (!text || text->empty()) return "another process";
    return *text;
}

MachineLock::~MachineLock() {
    if (fd_) (void)!::ftruncate(fd_.get(), 0);
}

Result<MachineLock> MachineLock::take(const std::string& purpose,
                                      const std::function<void(const std::string&)>& on_wait) {
    MachineLockQueue queue(purpose);
    auto at_once = queue.poll();
    if (!at_once) return pass(at_once);
    if (*at_once) return std::move(**at_once);
    if (on_wait) on_wait(holder());
    if (!queue.queued_) {
        auto queued = lock(queue.queue_, queue_path(), true);
        if (!queued) return pass(queued);
        queue.queued_ = true;
    }
    auto had = lock(queue.lock_, path(), true);
    if (!had) return pass(had);
    write_holder(queue.lock_, purpose);
    return MachineLock(std::move(queue.lock_));
}

Result<std::optional<MachineLock>> MachineLockQueue::poll() {
    if (!lock_) {
        auto queue = open_shared(queue_path());
        if (!queue) return pass(queue);
        auto own = open_shared(MachineLock::path());
        if (!own) return pass(own);
        queue_ = std::move(*queue);
        lock_ = std::move(*own);
    }
    if (!queued_) {
        auto queued = lock(queue_, queue_path(), false);
        if (!queued) return pass(queued);
        queued_ = *queued;
        if (!queued_) return std::nullopt;
    }
    auto had = lock(lock_, MachineLock::path(), false);
    if (!had) return pass(had);
    if (!*had) return std::nullopt;
    write_holder(lock_, purpose_);
    queue_.reset();
    queued_ = false;
    return std::optional<MachineLock>(MachineLock(std::move(lock_)));
}

}  // namespace kab
