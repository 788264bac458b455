#include "agent/guest/channel.h"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

namespace kab::guest {

Status Channel::send(const msg::Message& message) {
    const std::string payload = msg::encode(message);
    if (payload.size() > max_frame_bytes)
        return fail(Fault::protocol, "{}: a message of {} bytes exceeds the limit of {}", name_, payload.size(),
                    max_frame_bytes);
    const std::string bytes = frame(payload);
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t count = ::write(fd_.get(), bytes.data() + done, bytes.size() - done);
        if (count > 0)
            done += static_cast<std::size_t>(count);
        else if (count == 0)
            return fail(Fault::io, "write to {}: the other end is gone", name_);
        else if (errno != EINTR)
            return fail_errno(errno, "write to " + name_);
    }
    return {};
}

Result<msg::Message> Channel::receive() {
    std::vector<char> buffer(64U << 10);
    for (;;) {
        auto payload = reader_.pop();
        if (!payload) return pass(payload);
        if (*payload) return msg::decode(**payload);
        const ssize_t count = ::read(fd_.get(), buffer.data(), buffer.size());
        if (count > 0)
            reader_.push({buffer.data(), static_cast<std::size_t>(count)});
        else if (count == 0)
            return fail(Fault::io, "read from {}: the other end is gone{}", name_,
                        reader_.partial() ? " in the middle of a message" : "");
        else if (errno != EINTR)
            return fail_errno(errno, "read from " + name_);
    }
}

void Channel::await_answer(Nanoseconds limit) {
    pollfd waiting{fd_.get(), POLLIN, 0};
    const timespec left{limit.count() / 1'000'000'000, limit.count() % 1'000'000'000};
    (void)::ppoll(&waiting, 1, &left, nullptr);  // an error is an end of waiting too
}

void Channel::flush() {
    if (::isatty(fd_.get()) != 1) return;  // all others hand the bytes over in write()
    while (::tcdrain(fd_.get()) != 0 && errno == EINTR) continue;
}

}  // namespace kab::guest
