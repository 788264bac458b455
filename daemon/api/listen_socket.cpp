#include "daemon/api/listen_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "protocol/api/socket_address.h"

namespace kab::api {
namespace {

sockaddr_un address_of(const SocketAddress& address) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path, address.text().data(), address.text().size());  // of() made sure that it fits
    return name;
}

/// Removes what a dead process left. Fault::conflict when somebody answers there.
Status clear_stale(const fs::path& path, const SocketAddress& address) {
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0)
        return errno == ENOENT ? Status() : Status(fail_errno(errno, "stat " + path.native()));
    if (!S_ISSOCK(info.st_mode))
        return fail(Fault::io, "{} is in the way of the daemon's socket: move it away", path.native());
    UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!probe) return fail_errno(errno, "socket");
    const auto name = address_of(address);
    if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0 || errno == EAGAIN)
        return fail(Fault::conflict, "another daemon answers on {}", path.native());
    if (errno != ECONNREFUSED) return fail_errno(errno, "connect " + path.native());
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return fail_errno(errno, "remove " + path.native());
    return {};
}

}  // namespace

Result<UniqueFd> listen_socket(const fs::path& path, unsigned mode) {
    const auto address = SocketAddress::of(path);
    if (!address) return pass(address);
    if (auto cleared = clear_stale(path, *address); !cleared) return pass(cleared);
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return fail_errno(errno, "socket");
    const auto name = address_of(*address);
    // The umask decides about the file's mode: there is no moment with another one.
    const auto before = ::umask(0777U & ~mode);
    const int bound = ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name));
    const int error = errno;
    ::umask(before);
    if (bound != 0) return fail_errno(error, "bind " + path.native());
    if (::listen(socket.get(), SOMAXCONN) != 0) return fail_errno(errno, "listen on " + path.native());
    return socket;
}

}  // namespace kab::api
