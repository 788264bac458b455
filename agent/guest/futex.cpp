#include "agent/guest/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>

namespace kab::guest {

int futex_wait(FutexWord& word, std::uint32_t value, std::optional<Nanoseconds> limit) {
    timespec time{};
    if (limit) {
        time.tv_sec = limit->count() / 1'000'000'000;
        time.tv_nsec = limit->count() % 1'000'000'000;
    }
    if (::syscall(SYS_futex, &word, FUTEX_WAIT, value, limit ? &time : nullptr, nullptr, 0) == 0) return 0;
    return errno == EAGAIN || errno == EINTR || errno == ETIMEDOUT ? 0 : errno;
}

int futex_wake_all(FutexWord& word) {
    return ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0) < 0 ? errno : 0;
}

}  // namespace kab::guest
