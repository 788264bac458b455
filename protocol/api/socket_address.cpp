#include "protocol/api/socket_address.h"

#include <fcntl.h>
#include <sys/un.h>

namespace kab::api {

Result<SocketAddress> SocketAddress::of(const fs::path& path) {
    SocketAddress address;
    if (path.native().size() < sizeof(sockaddr_un::sun_path)) {
        address.text_ = path.native();
        return address;
    }
    auto directory = open_file(path.parent_path(), O_PATH | O_DIRECTORY);
    if (!directory) return pass(directory);
    address.directory_ = std::move(*directory);
    address.text_ = fmt::format("/proc/self/fd/{}/{}", address.directory_.get(), path.filename().native());
    if (address.text_.size() >= sizeof(sockaddr_un::sun_path))
        return fail(Fault::usage, "{}: the name of the socket is too long", path.native());
    return address;
}

}  // namespace kab::api
