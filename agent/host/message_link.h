#pragma once
// Messages over this process's stdin and stdout.
#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>

#include "protocol/framing.h"
#include "protocol/messages.h"

namespace kab::host {

/// Lives on one event loop. What is queued for sending is bounded by the senders (credit for samples).
class MessageLink : public std::enable_shared_from_this<MessageLink> {
  public:
    using MessageHandler = std::function<void(msg::Message)>;
    /// Called once: at the end of the stream (empty text) or for what went wrong.
    using EndHandler = std::function<void(const std::string& error)>;

    /// Fault::io when these descriptors cannot be waited for (a file, /dev/null).
    static Result<std::shared_ptr<MessageLink>> open(const boost::asio::any_io_executor& executor, int in, int out,
                                                     MessageHandler on_message, EndHandler on_end);

    void send(const msg::Message& message);
    /// Calls `done` when all that was sent has been written, or cannot be.
    void flush(std::function<void()> done);

  private:
    using Stream = boost::asio::posix::stream_descriptor;
    MessageLink(Stream in, Stream out, MessageHandler on_message, EndHandler on_end);
    void read();
    void receive(std::string_view bytes);
    void write();
    void end(const std::string& error);

    Stream in_, out_;
    MessageHandler on_message_;
    EndHandler on_end_;
    FrameReader reader_;
    std::array<char, 16384> buffer_{};
    std::string queued_, writing_;
    std::function<void()> flushed_;
    bool ended_ = false;
};

}  // namespace kab::host
