#pragma once
// A client of kabd: blocking calls with deadlines, over its unix socket. The only source of kab that
// includes Beast is client.cpp.
#include <memory>
#include <optional>
#include <string>

#include "common/clock.h"
#include "common/paths.h"
#include "protocol/api/types.h"

namespace kab::cli {

/// /v1/events, read line by line.
class EventStream {
  public:
    EventStream(EventStream&&) noexcept;
    EventStream& operator=(EventStream&&) noexcept;
    ~EventStream();

    enum class State { event, quiet, closed };
    struct Next {
        State state = State::quiet;
        std::optional<api::Event> event;  ///< with State::event
        std::string reason;               ///< with State::closed
    };
    /// Waits at most `patience` for an event. Closed: the daemon went away, or said nothing for 40 s although
    /// it sends a sign of life every 10 s.
    Next next(Nanoseconds patience);

  private:
    friend class Client;
    struct Impl;
    explicit EventStream(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

class Client {
  public:
    explicit Client(fs::path socket) : socket_(std::move(socket)) {}

    /// Somebody takes connections on the socket.
    bool present() const;

    /// Every call: Fault::infra when no daemon answers on the socket or it goes away before it has answered,
    /// Fault::timeout after 60 s; else the error that the daemon answered.
    Result<api::Version> version() const;
    /// `key`: the same for every try of the same submission. The evaluation's uid.
    Result<std::string> submit(const api::Submit& submission, const std::string& key) const;
    Result<std::vector<api::Evaluation>> evaluations() const;
    Result<api::EvaluationDetail> evaluation(const std::string& name) const;
    Status cancel(const std::string& uid) const;
    Result<std::vector<api::Kernel>> kernels() const;
    Result<std::vector<api::Host>> hosts() const;
    Result<bool> has_blob(const std::string& sha256) const;
    Status put_blob(const std::string& sha256, const std::string& bytes) const;
    Status shutdown() const;
    /// Events after `after` of one evaluation, then live ones.
    Result<EventStream> events(std::int64_t after, const std::string& uid) const;

  private:
    struct Call {
        std::string method, target, body, key;
    };
    struct Answer {
        int status = 0;
        std::string body;
    };
    Result<Answer> call(const Call& call) const;
    /// call(), and the body as JSON; an answer that is no success becomes its Error.
    Result<Json> call_json(const Call& call) const;

    fs::path socket_;
};

}  // namespace kab::cli
