#pragma once
// The wire between kab-agent and kab-host: whole messages over one descriptor.
#include <string>

#include "common/clock.h"
#include "common/files.h"
#include "protocol/framing.h"
#include "protocol/messages.h"

namespace kab::guest {

/// Frames and messages on a byte stream (virtio port, serial line, socket). Owns the descriptor,
/// which must be blocking. One thread at a time.
class Channel {
  public:
    /// `name` is for error texts: "virtio port kab.agent", "/dev/ttyS1".
    Channel(UniqueFd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}

    /// Writes the whole message. Fault::io when the other end is gone.
    Status send(const msg::Message& message);

    /// Waits for the next message. Fault::io at the end of the stream, Fault::protocol for nonsense.
    Result<msg::Message> receive();

    /// Waits for a word of the host, whatever it is, at most `limit`.
    void await_answer(Nanoseconds limit);

    /// Waits until all that was sent has left (a serial line buffers). Errors do not matter any more.
    void flush();

    const std::string& name() const { return name_; }

  private:
    UniqueFd fd_;
    std::string name_;
    FrameReader reader_;
};

}  // namespace kab::guest
