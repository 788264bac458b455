#include "daemon/api/event_feed.h"

#include "daemon/api/convert.h"
#include "daemon/api/views/views.h"
#include "protocol/api/json.h"

namespace kab::api {
namespace {

constexpr int page_rows = 500;
constexpr std::size_t batch_bytes = 256U << 10;

}  // namespace

EventHub::EventHub(Service& service, const store::Store& store) : service_(service), store_(store) {
    service_.add_listener(this);
}

EventHub::~EventHub() {
    service_.remove_listener(this);
}

void EventHub::transitions_committed() {
    for (auto* feed : feeds_) feed->transitions_committed();
}

void EventHub::progress(const ProgressEvent& event) {
    for (auto* feed : feeds_) feed->progress(event);
}

EventFeed::EventFeed(EventHub& hub, std::int64_t after, std::string evaluation)
    : hub_(hub), after_(after), evaluation_(std::move(evaluation)) {
    for (auto& event : hub_.service_.progress())
        if (wanted(event.evaluation)) progress_[event.evaluation] = event;
    hub_.feeds_.insert(this);
}

EventFeed::~EventFeed() {
    hub_.feeds_.erase(this);
}

void EventFeed::transitions_committed() {
    behind_ = true;
    if (wake_) wake_();
}

void EventFeed::progress(const ProgressEvent& event) {
    if (!wanted(event.evaluation)) return;
    progress_[event.evaluation] = event;
    if (wake_) wake_();
}

Result<LineSource::Batch> EventFeed::next() {
    Batch batch;
    if (behind_) {
        // One page a call: a long history is read in turns with everybody else's requests.
        auto rows = hub_.store_.transitions(after_, page_rows);
        if (!rows) return pass(rows);
        behind_ = rows->size() == page_rows;
        for (const auto& row : *rows) {
            if (batch.lines.size() > batch_bytes) {
                behind_ = true;
                break;
            }
            after_ = row.seq;
            if (wanted(row.evaluation)) batch.lines += dump_json(to_json(view_of(row))) + "\n";
        }
        batch.more = behind_;
    }
    if (!behind_) {
        for (const auto& [uid, event] : progress_) batch.lines += dump_json(to_json(convert(event))) + "\n";
        progress_.clear();
    }
    return batch;
}

}  // namespace kab::api
