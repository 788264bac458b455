#include "daemon/api/api_server.h"

namespace kab::api {

ApiServer::ApiServer(boost::asio::io_context& io, Service& service, const store::Store& store, ApiOptions options)
    : socket_(std::move(options.socket)),
      socket_mode_(options.socket_mode),
      hub_(service, store),
      handlers_(service, store, hub_, std::move(options.info)),
      server_(io, router_, options.limits) {
    handlers_.add_to(router_);
}

}  // namespace kab::api
