#pragma once
// Events for readers of /v1/events. Transitions come from the store, so that a slow reader costs no
// memory and loses nothing; of progress only the latest of each evaluation waits.
#include <map>
#include <optional>
#include <set>
#include <string>

#include "daemon/api/http.h"
#include "daemon/coordinator/service.h"
#include "daemon/store/store.h"

namespace kab::api {

class EventFeed;

/// Passes the coordinator's events to the feeds. Must outlive them; registers itself with the service.
class EventHub final : public Listener {
  public:
    EventHub(Service& service, const store::Store& store);
    ~EventHub() override;
    EventHub(const EventHub&) = delete;
    EventHub& operator=(const EventHub&) = delete;

    void transitions_committed() override;
    void progress(const ProgressEvent& event) override;

  private:
    friend class EventFeed;
    Service& service_;
    const store::Store& store_;
    std::set<EventFeed*> feeds_;
};

/// One reader: transitions after `after` (of one evaluation and of hosts if `evaluation` is not empty), then live.
class EventFeed final : public LineSource {
  public:
    EventFeed(EventHub& hub, std::int64_t after, std::string evaluation);
    ~EventFeed() override;
    EventFeed(const EventFeed&) = delete;
    EventFeed& operator=(const EventFeed&) = delete;

    Result<Batch> next() override;
    void on_ready(std::function<void()> wake) override { wake_ = std::move(wake); }

  private:
    friend class EventHub;
    /// What belongs to no evaluation (a host's change) concerns all of them.
    bool wanted(const std::string& evaluation) const {
        return evaluation_.empty() || evaluation.empty() || evaluation == evaluation_;
    }
    void transitions_committed();
    void progress(const ProgressEvent& event);

    EventHub& hub_;
    std::int64_t after_;
    std::string evaluation_;
    bool behind_ = true;  ///< the store may hold transitions after after_
    std::map<std::string, ProgressEvent> progress_;
    std::function<void()> wake_;
};

}  // namespace kab::api
