#pragma once
// One of the unix sockets between kab-host and QEMU: kab-host listens, QEMU connects once.
#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <functional>
#include <memory>
#include <string>

#include "common/files.h"

namespace kab::qemu {

/// Lives on one event loop. Bytes come as they are; closed once by the peer's end.
class GuestSocket : public std::enable_shared_from_this<GuestSocket> {
  public:
    using BytesHandler = std::function<void(std::string_view bytes)>;
    using ClosedHandler = std::function<void()>;

    /// Fault::infra when the socket cannot be made. `on_closed` is called once, when the connection
    /// ends or it is known that none will come; never from within a call into this class.
    static Result<std::shared_ptr<GuestSocket>> listen(const boost::asio::any_io_executor& executor,
                                                       const fs::path& path, BytesHandler on_bytes,
                                                       ClosedHandler on_closed);

    /// Queued until QEMU has connected and reads.
    void send(std::string bytes);

    /// Backpressure: between pause and resume nothing is read.
    void pause();
    void resume();

    /// Takes what QEMU left in a connection it made before it ended; without one this is the end.
    void emulator_ended();

    /// No handler is called any more.
    void close();

    bool closed() const { return closed_; }

  private:
    using Protocol = boost::asio::local::stream_protocol;
    GuestSocket(const boost::asio::any_io_executor& executor, BytesHandler on_bytes, ClosedHandler on_closed);
    void accept();
    void connected();
    void read();
    void write();
    void finish();

    Protocol::acceptor acceptor_;
    Protocol::socket socket_;
    BytesHandler on_bytes_;
    ClosedHandler on_closed_;
    std::array<char, 16384> buffer_{};
    std::string queued_, writing_;
    bool paused_ = false, reading_ = false, closed_ = false;
};

}  // namespace kab::qemu
