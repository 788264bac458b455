#include "cli/client.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <deque>

#include "protocol/api/json.h"
#include "protocol/api/socket_address.h"
#include "protocol/api/text.h"

namespace kab::cli {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using Local = asio::local::stream_protocol;
using Request = http::request<http::string_body>;

constexpr auto connect_limit = std::chrono::seconds(10);
constexpr auto call_limit = std::chrono::seconds(60);
constexpr auto silence_limit = std::chrono::seconds(40);
constexpr std::size_t answer_bytes = 256U << 20;

/// One connection and the loop that only it uses.
struct Connection {
    asio::io_context io;
    boost::beast::basic_stream<Local> stream{io};
    boost::beast::flat_buffer buffer;

    /// Runs the one operation that was started.
    void run() {
        io.restart();
        io.run();
    }
};

Status connect(Connection& connection, const fs::path& socket) {
    const auto address = api::SocketAddress::of(socket);
    if (!address) return fail(Fault::infra, "no daemon answers on {}", socket.native());
    error_code result;
    connection.stream.expires_after(connect_limit);
    connection.stream.async_connect(Local::endpoint(address->text()), [&](error_code error) { result = error; });
    connection.run();
    if (!result) return {};
    if (result == asio::error::connection_refused || result == error_code(ENOENT, boost::system::system_category()))
        return fail(Fault::infra, "no daemon answers on {}", socket.native());
    return fail(Fault::infra, "connect to {}: {}", socket.native(), result.message());
}

Error lost(const fs::path& socket, const error_code& error) {
    if (error == boost::beast::error::timeout)
        return {Fault::timeout, fmt::format("kabd does not answer on {}", socket.native()), {}};
    return {Fault::infra, fmt::format("kabd went away ({}): {}", socket.native(), error.message()), {}};
}

Status send(Connection& connection, const fs::path& socket, Request& request) {
    request.set(http::field::host, "localhost");
    request.set(http::field::user_agent, "kab/" KAB_VERSION);
    request.prepare_payload();
    error_code result;
    connection.stream.expires_after(call_limit);
    http::async_write(connection.stream, request, [&](error_code error, std::size_t) { result = error; });
    connection.run();
    // A refusal may have been sent before the whole request was read: read it rather than complain.
    if (result && result != asio::error::broken_pipe) return tl::unexpected(lost(socket, result));
    return {};
}

Request make_request(const std::string& method, const std::string& target) {
    Request request(http::string_to_verb(method), target, 11);
    return request;
}

}  // namespace

Result<Client::Answer> Client::call(const Call& call) const {
    Connection connection;
    if (auto connected = connect(connection, socket_); !connected) return pass(connected);
    auto request = make_request(call.method, call.target);
    request.keep_alive(false);
    if (!call.key.empty()) request.set("Idempotency-Key", call.key);
    request.body() = call.body;
    if (auto sent = send(connection, socket_, request); !sent) return pass(sent);

    http::response_parser<http::string_body> parser;
    parser.body_limit(answer_bytes);
    parser.skip(call.method == "HEAD");
    error_code result;
    connection.stream.expires_after(call_limit);
    http::async_read(connection.stream, connection.buffer, parser,
                     [&](error_code error, std::size_t) { result = error; });
    connection.run();
    if (result) return tl::unexpected(lost(socket_, result));
    return Answer{static_cast<int>(parser.get().result_int()), std::move(parser.get().body())};
}

Result<Json> Client::call_json(const Call& wanted) const {
    auto answer = call(wanted);
    if (!answer) return pass(answer);
    auto json = parse_json(answer->body, 64);
    if (answer->status >= 200 && answer->status < 300) return json;
    return tl::unexpected(api::error_from_json(json ? *json : Json()));
}

bool Client::present() const {
    Connection connection;
    return connect(connection, socket_).has_value();
}

Result<api::Version> Client::version() const {
    const auto json = call_json({"GET", "/v1/version", {}, {}});
    return json ? api::from_json<api::Version>(*json) : pass(json);
}

Result<std::string> Client::submit(const api::Submit& submission, const std::string& key) const {
    const auto json = call_json({"POST", "/v1/evaluations", dump_json(api::to_json(submission)), key});
    if (!json) return pass(json);
    const auto submitted = api::from_json<api::Submitted>(*json);
    if (!submitted) return pass(submitted);
    return submitted->uid;
}

Result<std::vector<api::Evaluation>> Client::evaluations() const {
    const auto json = call_json({"GET", "/v1/evaluations", {}, {}});
    return json ? api::list_from_json<api::Evaluation>("evaluations", *json) : pass(json);
}

Result<api::EvaluationDetail> Client::evaluation(const std::string& name) const {
    if (name.empty()) return fail(Fault::usage, "name an evaluation: its uid, its experiment, or last");
    const auto json = call_json({"GET", "/v1/evaluations/" + api::percent_encode(name), {}, {}});
    return json ? api::from_json<api::EvaluationDetail>(*json) : pass(json);
}

Status Client::cancel(const std::string& uid) const {
    const auto json = call_json({"POST", "/v1/evaluations/" + api::percent_encode(uid) + "/cancel", {}, {}});
    return json ? Status() : pass(json);
}

Result<std::vector<api::Kernel>> Client::kernels() const {
    const auto json = call_json({"GET", "/v1/kernels", {}, {}});
    return json ? api::list_from_json<api::Kernel>("kernels", *json) : pass(json);
}

Result<std::vector<api::Host>> Client::hosts() const {
    const auto json = call_json({"GET", "/v1/hosts", {}, {}});
    return json ? api::list_from_json<api::Host>("hosts", *json) : pass(json);
}

Result<bool> Client::has_blob(const std::string& sha256) const {
    const auto answer = call({"HEAD", "/v1/blobs/" + sha256, {}, {}});
    if (!answer) return pass(answer);
    return answer->status == 200;
}

Status Client::put_blob(const std::string& sha256, const std::string& bytes) const {
    const auto json = call_json({"PUT", "/v1/blobs/" + sha256, bytes, {}});
    return json ? Status() : pass(json);
}

Status Client::shutdown() const {
    const auto json = call_json({"POST", "/v1/shutdown", {}, {}});
    return json ? Status() : pass(json);
}

// ---- events ----

struct EventStream::Impl {
    Connection connection;
    http::response_parser<http::string_body> parser;
    bool reading = false;
    error_code error;
    std::string partial;  ///< a line that has not ended yet
    std::deque<api::Event> events;
    std::string broken;  ///< why nothing more can be understood
    std::chrono::steady_clock::time_point last_sign = std::chrono::steady_clock::now();

    void read();
    void take(const std::string& bytes);
};

EventStream::EventStream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
EventStream::EventStream(EventStream&&) noexcept = default;
EventStream& EventStream::operator=(EventStream&&) noexcept = default;
EventStream::~EventStream() = default;

void EventStream::Impl::read() {
    reading = true;
    http::async_read_some(connection.stream, connection.buffer, parser, [this](error_code result, std::size_t) {
        reading = false;
        error = result;
        last_sign = std::chrono::steady_clock::now();
        take(std::exchange(parser.get().body(), std::string()));
    });
}

void EventStream::Impl::take(const std::string& bytes) {
    partial += bytes;
    std::size_t begin = 0;
    for (;;) {
        const auto end = partial.find('\n', begin);
        if (end == std::string::npos) break;
        const auto line = partial.substr(begin, end - begin);
        begin = end + 1;
        if (line.empty()) continue;  // a sign of life
        const auto json = parse_json(line);
        auto event = json ? api::event_from_json(*json) : Result<std::optional<api::Event>>(pass(json));
        if (!event)
            broken = event.error().text();
        else if (*event)
            events.push_back(std::move(**event));
    }
    partial.erase(0, begin);
}

EventStream::Next EventStream::next(Nanoseconds patience) {
    auto& impl = *impl_;
    const auto until = std::chrono::steady_clock::now() + patience;
    for (;;) {
        if (!impl.events.empty()) {
            Next next{State::event, std::move(impl.events.front()), {}};
            impl.events.pop_front();
            return next;
        }
        if (!impl.broken.empty()) return {State::closed, {}, impl.broken};
        if (impl.error) return {State::closed, {}, impl.error.message()};
        if (impl.parser.is_done()) return {State::closed, {}, "end of events"};
        const auto now = std::chrono::steady_clock::now();
        if (now - impl.last_sign > silence_limit) return {State::closed, {}, "no sign of life"};
        if (now >= until) return {};
        if (!impl.reading) impl.read();
        impl.connection.io.restart();
        impl.connection.io.run_one_until(until);
    }
}

Result<EventStream> Client::events(std::int64_t after, const std::string& uid) const {
    auto impl = std::make_unique<EventStream::Impl>();
    auto& connection = impl->connection;
    if (auto connected = connect(connection, socket_); !connected) return pass(connected);
    auto request =
        make_request("GET", fmt::format("/v1/events?after={}&evaluation={}", after, api::percent_encode(uid)));
    if (auto sent = send(connection, socket_, request); !sent) return pass(sent);
    impl->parser.body_limit(boost::none);
    error_code result;
    connection.stream.expires_after(call_limit);
    http::async_read_header(connection.stream, connection.buffer, impl->parser,
                            [&](error_code error, std::size_t) { result = error; });
    connection.run();
    if (result) return tl::unexpected(lost(socket_, result));
    if (const auto status = impl->parser.get().result_int(); status != 200)
        return fail(Fault::infra, "kabd answered {} to a request for events", status);
    connection.stream.expires_never();
    return EventStream(std::move(impl));
}

}  // namespace kab::cli
