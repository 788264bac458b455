#pragma once
// The daemon's HTTP API: routes, handlers, events and the socket put together.
#include <boost/asio/io_context.hpp>

#include "daemon/api/handlers.h"
#include "daemon/api/http_server.h"

namespace kab::api {

struct ApiOptions {
    fs::path socket;
    unsigned socket_mode = 0600;  ///< 0660 for a daemon that a group shares
    DaemonInfo info;
    HttpLimits limits = {};
};

class ApiServer {
  public:
    /// `store` is a read-only store of its own on the daemon's database. Everything is used on the loop's thread
    /// and must outlive the server.
    ApiServer(boost::asio::io_context& io, Service& service, const store::Store& store, ApiOptions options);

    /// Fault::conflict when another daemon answers on the socket.
    Status start() { return server_.listen(socket_, socket_mode_); }
    void stop() { server_.stop(); }

    /// For a private daemon's end after idle time: open connections (event readers too), and the last sign of life.
    std::size_t connections() const { return server_.connections(); }
    std::chrono::steady_clock::time_point last_activity() const { return server_.last_activity(); }

  private:
    fs::path socket_;
    unsigned socket_mode_;
    EventHub hub_;
    Handlers handlers_;
    Router router_;
    HttpServer server_;  // last: its connections hold feeds of hub_
};

}  // namespace kab::api
