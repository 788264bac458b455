#pragma once
// Where the channel to kab-host is: a virtio port, a second serial line, or what a test hands over.
#include <string>
#include <string_view>

#include "agent/guest/channel.h"
#include "common/clock.h"

namespace kab::guest {

/// Name of the virtio port that kab-host gives to QEMU.
inline constexpr std::string_view virtio_port_name = "kab.agent";

/// In a guest. `wanted` is the value of kab.channel on the kernel command line: "virtio", a serial
/// line ("ttyS1"), or empty, which tries the port and then ttyS1. Waits at most `limit` for the
/// port to appear and for the host to open its end. Fault::not_found says what was tried.
Result<Channel> find_channel(std::string_view wanted, Nanoseconds limit);

/// Outside a guest. "fd:N" takes over an open descriptor; a path names a unix socket that listens,
/// a terminal (made raw) or a virtio port.
Result<Channel> open_channel(const std::string& place);

/// 115200 8N1, no echo, no translation, no flow control. Fault::io when `fd` is no terminal.
Status make_raw(int fd, const std::string& name);

}  // namespace kab::guest
