#include "daemon/api/handlers.h"

#include <unistd.h>

#include <charconv>

#include "daemon/api/convert.h"
#include "daemon/api/views/views.h"
#include "protocol/api/json.h"
#include "protocol/api/text.h"
#include "protocol/messages.h"

namespace kab::api {
namespace {

constexpr std::size_t longest_key = 200;

template <class T>
HttpReply list_reply(const char* key, const Result<std::vector<T>>& items) {
    return items ? HttpReply::json(200, list_to_json(key, *items)) : HttpReply::error(items.error());
}

/// ?after=SEQ, 0 without.
Result<std::int64_t> read_after(const HttpRequest& request) {
    const auto found = request.query.find("after");
    if (found == request.query.end()) return 0;
    const auto& text = found->second;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 0)
        return fail(Fault::usage, "after={}: expected the seq of a transition, or 0 for all", text);
    return value;
}

}  // namespace

Handlers::Handlers(Service& service, const store::Store& store, EventHub& hub, DaemonInfo info)
    : service_(service), store_(store), hub_(hub), info_(std::move(info)) {}

void Handlers::add_to(Router& router) {
    const auto add = [&](const char* method, const char* pattern, auto member, std::size_t limit) {
        router.add(
            {method, pattern, [this, member](const HttpRequest& request) { return (this->*member)(request); }, limit});
    };
    add("GET", "/v1/version", &Handlers::version, 0);
    add("POST", "/v1/evaluations", &Handlers::submit, ordinary_body_bytes);
    add("GET", "/v1/evaluations", &Handlers::evaluations, 0);
    add("GET", "/v1/evaluations/{id}", &Handlers::evaluation, 0);
    add("POST", "/v1/evaluations/{id}/cancel", &Handlers::cancel, ordinary_body_bytes);
    add("GET", "/v1/kernels", &Handlers::kernels, 0);
    add("GET", "/v1/hosts", &Handlers::hosts, 0);
    add("PUT", "/v1/blobs/{sha256}", &Handlers::put_blob, blob_body_bytes);
    add("HEAD", "/v1/blobs/{sha256}", &Handlers::head_blob, 0);
    add("GET", "/v1/events", &Handlers::events, 0);
    add("POST", "/v1/shutdown", &Handlers::shutdown, ordinary_body_bytes);
}

HttpReply Handlers::version(const HttpRequest&) const {
    Version version;
    version.version = info_.version;
    version.api = api_version;
    version.protocol = fmt::format("{}.{}", msg::protocol_major, msg::protocol_minor);
    version.pid = ::getpid();
    version.state_dir = info_.state_dir;
    version.is_private = info_.is_private;
    version.idle = service_.idle();
    return HttpReply::json(200, to_json(version));
}

HttpReply Handlers::submit(const HttpRequest& request) {
    if (request.idempotency_key.empty() || request.idempotency_key.size() > longest_key)
        return HttpReply::error(
            {Fault::usage,
             fmt::format("POST /v1/evaluations needs a header Idempotency-Key of 1 to {} characters, "
                         "new for each evaluation and the same for each try",
                         longest_key),
             {}});
    const auto json = parse_json(request.body, 64);
    if (!json) return HttpReply::error(json.error());
    const auto body = from_json<Submit>(*json);
    if (!body) return HttpReply::error(body.error());
    for (const auto& input : body->inputs)
        if (!is_sha256(input.sha256))
            return HttpReply::error({Fault::usage, "sha256 must be 64 lower-case hex digits", input.path});
    const auto uid = service_.submit(convert(*body, request.idempotency_key));
    if (!uid) return HttpReply::error(uid.error());
    return HttpReply::json(201, to_json(Submitted{*uid}));
}

HttpReply Handlers::evaluations(const HttpRequest&) const {
    auto list = list_evaluations(store_);
    if (list)
        for (auto& evaluation : *list) add_progress(evaluation);
    return list_reply("evaluations", list);
}

void Handlers::add_progress(Evaluation& evaluation) const {
    if (evaluation.ended()) return;
    for (const auto& event : service_.progress())
        if (event.evaluation == evaluation.uid) evaluation.progress = convert(event);
}

HttpReply Handlers::evaluation(const HttpRequest& request) const {
    auto detail = show_evaluation(store_, request.parameters.at(0));
    if (!detail) return HttpReply::error(detail.error());
    detail->busy = service_.busy(detail->evaluation.uid);
    add_progress(detail->evaluation);
    return HttpReply::json(200, to_json(*detail));
}

HttpReply Handlers::cancel(const HttpRequest& request) {
    const auto found = store_.find_evaluation(request.parameters.at(0));
    if (!found) return HttpReply::error(found.error());
    const auto cancelled = service_.cancel(found->uid);
    if (!cancelled) return HttpReply::error(cancelled.error());
    return HttpReply::json(202, to_json(Submitted{found->uid}));
}

HttpReply Handlers::kernels(const HttpRequest&) const {
    return list_reply("kernels", list_kernels(store_));
}

HttpReply Handlers::hosts(const HttpRequest&) const {
    return list_reply("hosts", list_hosts(store_));
}

HttpReply Handlers::put_blob(const HttpRequest& request) {
    const auto& sha256 = request.parameters.at(0);
    if (!is_sha256(sha256))
        return HttpReply::error({Fault::usage, "a blob is named by 64 lower-case hex digits", sha256});
    const auto stored = service_.put_blob(sha256, request.body);
    if (!stored) return HttpReply::error(stored.error());
    return HttpReply::json(201, Json{{"sha256", sha256}, {"bytes", request.body.size()}});
}

HttpReply Handlers::head_blob(const HttpRequest& request) const {
    HttpReply reply;
    const auto& sha256 = request.parameters.at(0);
    reply.status = is_sha256(sha256) && service_.has_blob(sha256) ? 200 : 404;
    return reply;
}

HttpReply Handlers::events(const HttpRequest& request) {
    const auto after = read_after(request);
    if (!after) return HttpReply::error(after.error());
    std::string uid;
    if (const auto named = request.query.find("evaluation"); named != request.query.end()) {
        const auto found = store_.find_evaluation(named->second);
        if (!found) return HttpReply::error(found.error());
        uid = found->uid;
    }
    HttpReply reply;
    reply.stream = std::make_unique<EventFeed>(hub_, *after, uid);
    return reply;
}

HttpReply Handlers::shutdown(const HttpRequest&) {
    if (!info_.is_private)
        return HttpReply::error({Fault::conflict, "kab did not start this daemon: end it where it was started", {}});
    if (!service_.idle())
        return HttpReply::error({Fault::conflict, "evaluations are queued or running: wait, or cancel them", {}});
    auto reply = HttpReply::json(202, Json{{"pid", ::getpid()}});
    reply.afterwards = info_.on_shutdown;
    return reply;
}

}  // namespace kab::api
