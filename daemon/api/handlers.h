#pragma once
// The endpoints of /v1 (docs/api.md): each turns a request into a reply, from the service and the store.
#include <functional>
#include <string>

#include "daemon/api/event_feed.h"
#include "daemon/api/http.h"
#include "daemon/api/router.h"
#include "protocol/api/types.h"

namespace kab::api {

/// What the daemon says about itself, and what it does when asked to end.
struct DaemonInfo {
    std::string version;                ///< KAB_VERSION
    std::string state_dir;              ///< absolute
    bool is_private = false;            ///< may be ended by POST /v1/shutdown
    std::function<void()> on_shutdown;  ///< called once the answer is written
};

class Handlers {
  public:
    /// All references must outlive the handlers and the streams they gave.
    Handlers(Service& service, const store::Store& store, EventHub& hub, DaemonInfo info);
    void add_to(Router& router);

  private:
    HttpReply version(const HttpRequest& request) const;
    HttpReply submit(const HttpRequest& request);
    HttpReply evaluations(const HttpRequest& request) const;
    HttpReply evaluation(const HttpRequest& request) const;
    HttpReply cancel(const HttpRequest& request);
    HttpReply kernels(const HttpRequest& request) const;
    HttpReply hosts(const HttpRequest& request) const;
    HttpReply put_blob(const HttpRequest& request);
    HttpReply head_blob(const HttpRequest& request) const;
    HttpReply events(const HttpRequest& request);
    HttpReply shutdown(const HttpRequest& request);

    void add_progress(Evaluation& evaluation) const;

    Service& service_;
    const store::Store& store_;
    EventHub& hub_;
    DaemonInfo info_;
};

}  // namespace kab::api
