#include "agent/guest/find_channel.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "agent/guest/text.h"

namespace kab::guest {
namespace {

class Deadline {
  public:
    explicit Deadline(Nanoseconds limit) : end_(clock_.steady() + limit) {}
    /// Not negative.
    Nanoseconds left() const { return std::max(Nanoseconds{0}, end_ - clock_.steady()); }
    timespec left_timespec() const {
        const auto ns = left().count();
        return {ns / 1000000000, ns % 1000000000};
    }

  private:
    SystemClock clock_;
    SteadyTime end_;
};

/// The kernel tells of new devices here; invalid on a kernel without networking.
UniqueFd open_uevents() {
    UniqueFd fd(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT));
    if (!fd) return fd;
    sockaddr_nl address{};
    address.nl_family = AF_NETLINK;
    address.nl_groups = 1;
    if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fd.reset();
    return fd;
}

/// Waits for the next device event. Without uevents: a millisecond, as the directory must be polled.
void wait_for_device(const UniqueFd& uevents, const Deadline& deadline) {
    if (!uevents) {
        timespec step{0, 1000000};
        ::nanosleep(&step, nullptr);
        return;
    }
    pollfd waiting{uevents.get(), POLLIN, 0};
    const timespec left = deadline.left_timespec();
    if (::ppoll(&waiting, 1, &left, nullptr) <= 0) return;
    std::array<char, 8192> drop;
    while (::recv(uevents.get(), drop.data(), drop.size(), 0) > 0) continue;
}

/// "/dev/vport0p1" for the port of our name.
std::optional<fs::path> find_port() {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator("/sys/class/virtio-ports", ignored)) {
        const auto name = read_text(entry.path() / "name");
        if (name && trim(*name) == virtio_port_name) return fs::path("/dev") / entry.path().filename();
    }
    return std::nullopt;
}

bool host_connected(int fd) {
    pollfd state{fd, 0, 0};
    return ::poll(&state, 1, 0) == 0 || (state.revents & POLLHUP) == 0;
}

/// What is written before the host has opened its end is lost, and poll() cannot wait for the end
/// of a hang-up; but the driver sends SIGIO when the state changes.
Status wait_for_host(int fd, const Deadline& deadline) {
    sigset_t sigio, before;
    sigemptyset(&sigio);
    sigaddset(&sigio, SIGIO);
    ::signal(SIGIO, SIG_IGN);  // late ones must not end the process after unblocking
    if (::sigprocmask(SIG_BLOCK, &sigio, &before) != 0) return fail_errno(errno, "sigprocmask");
    const int flags = ::fcntl(fd, F_GETFL);
    Status result;
    if (flags < 0 || ::fcntl(fd, F_SETOWN, ::getpid()) != 0 || ::fcntl(fd, F_SETFL, flags | O_ASYNC) != 0)
        result = fail_errno(errno, "asking for SIGIO on the virtio port");
    while (result && !host_connected(fd)) {
        const timespec left = deadline.left_timespec();
        if (left.tv_sec == 0 && left.tv_nsec == 0)
            result = fail(Fault::timeout, "the host does not open its end of virtio port {}", virtio_port_name);
        else if (::sigtimedwait(&sigio, nullptr, &left) < 0 && errno != EAGAIN && errno != EINTR)
            result = fail_errno(errno, "sigtimedwait");
    }
    if (flags >= 0 && ::fcntl(fd, F_SETFL, flags) != 0 && result)
        result = fail_errno(errno, "fcntl on the virtio port");
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    return result;
}

Result<Channel> open_port(const fs::path& device, const Deadline& deadline) {
    auto fd = open_file(device, O_RDWR);
    if (!fd) return pass(fd);
    if (auto ready = wait_for_host(fd->get(), deadline); !ready) return pass(ready);
    return Channel(std::move(*fd), device.string());
}

Result<Channel> wait_for_port(const Deadline& deadline) {
    const UniqueFd uevents = open_uevents();  // before the first look, so that no event is missed
    for (;;) {
        if (const auto device = find_port()) return open_port(*device, deadline);
        if (deadline.left() == Nanoseconds{0})
            return fail(Fault::not_found,
                        "no virtio port named {} in /sys/class/virtio-ports (is virtio-console in the kernel or "
                        "among its modules?)",
                        virtio_port_name);
        wait_for_device(uevents, deadline);
    }
}

Result<Channel> open_serial(const std::string& path) {
    auto fd = open_file(path, O_RDWR | O_NOCTTY);
    if (!fd) return pass(fd);
    if (auto raw = make_raw(fd->get(), path); !raw) return pass(raw);
    return Channel(std::move(*fd), path);
}

Result<Channel> connect_socket(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        return fail(Fault::usage, "--channel {}: longer than a socket path may be", path);
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd) return fail_errno(errno, "socket");
    if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
        return fail_errno(errno, "connect to " + path);
    return Channel(std::move(fd), path);
}

Result<Channel> take_descriptor(const std::string& place) {
    const auto number = parse_integer(std::string_view(place).substr(3));
    if (!number || *number < 0 || *number > 1 << 20)
        return fail(Fault::usage, "--channel {}: expected fd:N with the number of an open descriptor", place);
    const int fd = static_cast<int>(*number);
    const int flags = ::fcntl(fd, F_GETFD);
    if (flags < 0 || ::fcntl(fd, F_SETFD, flags | FD_CLOEXEC) != 0) return fail_errno(errno, "--channel " + place);
    return Channel(UniqueFd(fd), place);
}

}  // namespace

Status make_raw(int fd, const std::string& name) {
    termios settings{};
    // A port without hardware behind it can be opened, but answers EIO here.
    if (::tcgetattr(fd, &settings) != 0) return fail_errno(errno, "settings of " + name);
    ::cfmakeraw(&settings);
    settings.c_cflag |= CS8 | CREAD | CLOCAL;
    settings.c_cflag &= ~static_cast<tcflag_t>(CRTSCTS | CSTOPB | PARENB);
    settings.c_cc[VMIN] = 1;
    settings.c_cc[VTIME] = 0;
    if (::cfsetispeed(&settings, B115200) != 0 || ::cfsetospeed(&settings, B115200) != 0)
        return fail_errno(errno, "speed of " + name);
    if (::tcsetattr(fd, TCSANOW, &settings) != 0) return fail_errno(errno, "settings of " + name);
    return {};
}

Result<Channel> find_channel(std::string_view wanted, Nanoseconds limit) {
    const Deadline deadline(limit);
    if (wanted == "virtio") return wait_for_port(deadline);
    if (!wanted.empty()) return open_serial("/dev/" + std::string(wanted));
    auto port = wait_for_port(deadline);
    if (port) return port;
    auto serial = open_serial("/dev/ttyS1");
    if (serial) return serial;
    return fail(Fault::not_found, "no channel to the host: {}; {}", port.error().text(), serial.error().text());
}

Result<Channel> open_channel(const std::string& place) {
    if (place.starts_with("fd:")) return take_descriptor(place);
    struct stat info {};
    if (::stat(place.c_str(), &info) != 0) return fail_errno(errno, "--channel " + place);
    if (S_ISSOCK(info.st_mode)) return connect_socket(place);
    if (!S_ISCHR(info.st_mode))
        return fail(Fault::usage, "--channel {}: neither a socket nor a character device", place);
    auto fd = open_file(place, O_RDWR | O_NOCTTY);
    if (!fd) return pass(fd);
    if (::isatty(fd->get()) == 1)
        if (auto raw = make_raw(fd->get(), place); !raw) return pass(raw);
    return Channel(std::move(*fd), place);
}

}  // namespace kab::guest
