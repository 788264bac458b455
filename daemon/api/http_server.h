#pragma once
// HTTP/1.1 on a unix socket. The only source of kabd that includes Beast is http_server.cpp.
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>

#include "common/files.h"
#include "daemon/api/router.h"

namespace kab::api {

struct HttpLimits {
    std::size_t connections = 128;  ///< more wait in the kernel's queue
    std::size_t streams = 64;       ///< of these; more are answered 503
    std::uint32_t header_bytes = 16U << 10;
    std::chrono::milliseconds idle{60'000};       ///< from the answer to the next request's header
    std::chrono::milliseconds body{60'000};       ///< for reading a whole body
    std::chrono::milliseconds write{30'000};      ///< for one answer or one batch of a stream to be taken
    std::chrono::milliseconds heartbeat{10'000};  ///< an empty line on a silent stream
};

/// Handlers run on the loop's one thread, one after the other.
class HttpServer {
  public:
    /// `router` must outlive the server, and the loop must be run by one thread only.
    HttpServer(boost::asio::io_context& io, const Router& router, HttpLimits limits = {});
    /// As stop().
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    /// Binds the socket file (mode `mode`). One that is left from a dead process is replaced; Fault::conflict when
    /// somebody answers on it.
    Status listen(const fs::path& socket, unsigned mode);
    /// Closes all connections, and removes the socket file. What was not written yet is lost.
    void stop();
    std::size_t connections() const;
    /// When the last request came, or the last connection ended.
    std::chrono::steady_clock::time_point last_activity() const;

    struct State;

  private:
    std::shared_ptr<State> state_;
};

}  // namespace kab::api
