#include "daemon/api/http_server.h"

#include <fcntl.h>
#include <unistd.h>

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <optional>
#include <set>

#include "daemon/api/listen_socket.h"

namespace kab::api {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using Local = asio::local::stream_protocol;
using Steady = std::chrono::steady_clock;

class Session;

}  // namespace

/// Shared with the sessions, whose last handlers may run after the server's end.
struct HttpServer::State : std::enable_shared_from_this<HttpServer::State> {
    State(asio::io_context& loop, const Router& table, HttpLimits bounds)
        : io(loop), router(table), limits(bounds), acceptor(loop), retry(loop) {}

    void accept();
    void accepted(error_code error, Local::socket socket);
    void ended(Session* session);

    asio::io_context& io;
    const Router& router;
    HttpLimits limits;
    Local::acceptor acceptor;
    asio::steady_timer retry;
    fs::path path;
    std::set<Session*> sessions;
    std::size_t streams = 0;
    bool accepting = false, stopped = false;
    Steady::time_point last_activity = Steady::now();
};

namespace {

using ServerState = HttpServer::State;

/// One connection: request, answer, request, ... or one stream until the end.
class Session : public std::enable_shared_from_this<Session> {
  public:
    Session(std::shared_ptr<ServerState> server, Local::socket socket)
        : server_(std::move(server)), stream_(std::move(socket)), heartbeat_(server_->io) {}
    ~Session() { server_->ended(this); }

    void start() { read_header(); }
    /// Pending operations end with an error, and with them the session. The feed goes at once: what it reads
    /// from may be gone before the last handler runs.
    void close();

  private:
    void read_header();
    void on_header(error_code error);
    void invite_body();
    void read_body();
    void on_body(error_code error);
    void handle();
    HttpReply answer() const;
    void refuse(HttpReply reply);
    void send(HttpReply reply);
    void on_sent(error_code error);
    void drain();

    void start_stream(std::unique_ptr<LineSource> source);
    void watch_for_end();
    void pump();
    void pump_soon();
    void write_chunk();
    void wait_for_more();
    void write_heartbeat();

    template <class Member>
    auto bind(Member member) {
        return [self = shared_from_this(), member](error_code error, auto...) { ((*self).*member)(error); };
    }

    std::shared_ptr<ServerState> server_;
    boost::beast::basic_stream<Local> stream_;
    boost::beast::flat_buffer buffer_;
    std::optional<http::request_parser<http::string_body>> parser_;
    Router::Match match_;
    std::optional<http::response<http::string_body>> response_;
    std::function<void()> afterwards_;
    bool close_after_ = false;
    std::size_t drained_ = 0;
    std::string drain_buffer_;

    std::unique_ptr<LineSource> source_;
    std::optional<http::response<http::empty_body>> stream_head_;
    std::optional<http::response_serializer<http::empty_body>> stream_serializer_;
    asio::steady_timer heartbeat_;
    std::string chunk_;
    bool writing_ = false, pump_posted_ = false, closed_ = false;
    Steady::time_point last_write_;
};

void Session::close() {
    if (closed_) return;
    closed_ = true;
    if (source_) --server_->streams;
    source_.reset();
    heartbeat_.cancel();
    error_code ignored;
    stream_.socket().close(ignored);
}

void Session::read_header() {
    parser_.emplace();
    parser_->header_limit(server_->limits.header_bytes);
    parser_->body_limit(boost::none);  // the route's limit is set once it is known
    stream_.expires_after(server_->limits.idle);
    http::async_read_header(stream_, buffer_, *parser_, bind(&Session::on_header));
}

void Session::on_header(error_code error) {
    if (closed_) return;
    if (error == http::error::header_limit)
        return refuse(HttpReply::error(431, {Fault::usage, "the request's header is too long", {}}));
    if (error.category() == http::make_error_code(http::error::bad_method).category() &&
        error != http::error::end_of_stream && error != http::error::partial_message)
        return refuse(HttpReply::error(400, {Fault::protocol, "no HTTP request: " + error.message(), {}}));
    if (error) return close();

    server_->last_activity = Steady::now();
    const auto& request = parser_->get();
    match_ = server_->router.match(std::string(request.method_string()), std::string(request.target()));
    if (match_.route == nullptr) return refuse(std::move(match_.refusal));
    match_.request.idempotency_key = std::string(request["Idempotency-Key"]);
    const auto limit = match_.route->body_limit;
    const auto length = parser_->content_length();
    if (length && *length > limit)
        return refuse(HttpReply::error(
            413, {Fault::usage, fmt::format("a body of {} bytes: at most {} are accepted here", *length, limit), {}}));
    parser_->body_limit(limit);
    if (boost::beast::iequals(request[http::field::expect], "100-continue")) return invite_body();
    read_body();
}

/// curl holds back a long body until it is told that it will be taken.
void Session::invite_body() {
    response_.emplace(http::status::continue_, 11);
    stream_.expires_after(server_->limits.write);
    http::async_write(stream_, *response_, [self = shared_from_this()](error_code error, std::size_t) {
        self->response_.reset();
        if (error || self->closed_) return self->close();
        self->read_body();
    });
}

void Session::read_body() {
    stream_.expires_after(server_->limits.body);
    http::async_read(stream_, buffer_, *parser_, bind(&Session::on_body));
}

void Session::on_body(error_code error) {
    if (closed_) return;
    if (error == http::error::body_limit)
        return refuse(HttpReply::error(
            413, {Fault::usage, fmt::format("at most {} bytes are accepted here", match_.route->body_limit), {}}));
    if (error) return close();
    handle();
}

HttpReply Session::answer() const {
    try {
        return match_.route->handler(match_.request);
    } catch (const std::exception& e) {
        return HttpReply::error({Fault::internal, e.what(), match_.route->pattern});
    }
}

void Session::handle() {
    match_.request.body = std::move(parser_->get().body());
    close_after_ = !parser_->get().keep_alive();
    auto reply = answer();
    match_.request.body.clear();
    if (!reply.stream) return send(std::move(reply));
    if (server_->streams >= server_->limits.streams)
        return send(HttpReply::error(503, {Fault::conflict, "too many event readers: close some", {}}));
    start_stream(std::move(reply.stream));
}

/// Answers without having read the body; the connection ends after it.
void Session::refuse(HttpReply reply) {
    close_after_ = true;
    send(std::move(reply));
}

void Session::send(HttpReply reply) {
    const bool head = parser_->get().method() == http::verb::head;
    response_.emplace(static_cast<http::status>(reply.status), 11);
    response_->set(http::field::server, "kabd/" KAB_VERSION);
    if (!reply.body.empty()) response_->set(http::field::content_type, "application/json");
    response_->body() = head ? std::string() : std::move(reply.body);
    response_->keep_alive(!close_after_);
    response_->prepare_payload();
    afterwards_ = std::move(reply.afterwards);
    stream_.expires_after(server_->limits.write);
    http::async_write(stream_, *response_, bind(&Session::on_sent));
}

void Session::on_sent(error_code error) {
    response_.reset();
    if (auto afterwards = std::move(afterwards_)) afterwards();
    if (closed_) return;
    if (error) return close();
    if (!close_after_) return read_header();
    // Closing with unread bytes would reset the connection before the peer has read the answer.
    stream_.socket().shutdown(Local::socket::shutdown_send, error);
    if (error) return close();
    drain_buffer_.resize(64U << 10);
    stream_.expires_after(server_->limits.write);
    drain();
}

void Session::drain() {
    stream_.async_read_some(asio::buffer(drain_buffer_),
                            [self = shared_from_this()](error_code error, std::size_t bytes) {
                                self->drained_ += bytes;
                                if (error || self->drained_ > 2 * blob_body_bytes) return self->close();
                                self->drain();
                            });
}

// ---- a stream of lines ----

void Session::start_stream(std::unique_ptr<LineSource> source) {
    source_ = std::move(source);
    ++server_->streams;
    // Posted: the wake-up comes from within the coordinator's own work.
    source_->on_ready([weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->pump_soon();
    });
    stream_head_.emplace(http::status::ok, 11);
    stream_head_->set(http::field::server, "kabd/" KAB_VERSION);
    stream_head_->set(http::field::content_type, "application/x-ndjson");
    stream_head_->set(http::field::cache_control, "no-store");
    stream_head_->chunked(true);
    stream_serializer_.emplace(*stream_head_);
    writing_ = true;
    stream_.expires_after(server_->limits.write);
    http::async_write_header(stream_, *stream_serializer_, [self = shared_from_this()](error_code error, std::size_t) {
        self->writing_ = false;
        if (error || self->closed_) return self->close();
        self->last_write_ = Steady::now();
        self->watch_for_end();
        self->pump();
    });
}

/// A reader has nothing more to say: whatever comes is the end.
void Session::watch_for_end() {
    stream_.socket().async_wait(Local::socket::wait_read, [self = shared_from_this()](error_code) { self->close(); });
}

void Session::pump() {
    if (closed_ || writing_) return;
    auto batch = source_->next();
    if (!batch) return close();  // the reader comes back and is told in an ordinary answer
    chunk_ = std::move(batch->lines);
    if (!chunk_.empty()) return write_chunk();
    if (batch->more)
        pump_soon();
    else
        wait_for_more();
}

void Session::pump_soon() {
    if (closed_ || writing_ || pump_posted_) return;
    pump_posted_ = true;
    asio::post(server_->io, [self = shared_from_this()] {
        self->pump_posted_ = false;
        self->pump();
    });
}

void Session::write_chunk() {
    writing_ = true;
    heartbeat_.cancel();
    stream_.expires_after(server_->limits.write);
    asio::async_write(stream_, http::make_chunk(asio::buffer(chunk_)),
                      [self = shared_from_this()](error_code error, std::size_t) {
                          self->writing_ = false;
                          if (error) return self->close();
                          self->last_write_ = Steady::now();
                          self->pump();
                      });
}

/// Called anew whenever the feed was woken and had nothing for this reader: that must not put the heartbeat off.
void Session::wait_for_more() {
    const auto due = last_write_ + server_->limits.heartbeat;
    if (Steady::now() >= due) return write_heartbeat();
    heartbeat_.expires_at(due);
    heartbeat_.async_wait([self = shared_from_this()](error_code error) {
        if (!error && !self->closed_ && !self->writing_) self->write_heartbeat();
    });
}

void Session::write_heartbeat() {
    chunk_ = "\n";
    write_chunk();
}

}  // namespace

void HttpServer::State::accept() {
    if (accepting || stopped || sessions.size() >= limits.connections) return;
    accepting = true;
    acceptor.async_accept([self = shared_from_this()](error_code error, Local::socket socket) {
        self->accepting = false;
        self->accepted(error, std::move(socket));
    });
}

void HttpServer::State::accepted(error_code error, Local::socket socket) {
    if (stopped) return;
    if (error) {
        // Out of descriptors, mostly: they come back.
        retry.expires_after(std::chrono::milliseconds(200));
        retry.async_wait([self = shared_from_this()](error_code) { self->accept(); });
        return;
    }
    ::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
    const auto session = std::make_shared<Session>(shared_from_this(), std::move(socket));
    sessions.insert(session.get());
    session->start();
    accept();
}

void HttpServer::State::ended(Session* session) {
    sessions.erase(session);
    last_activity = Steady::now();
    accept();
}

HttpServer::HttpServer(asio::io_context& io, const Router& router, HttpLimits limits)
    : state_(std::make_shared<State>(io, router, limits)) {}

HttpServer::~HttpServer() {
    stop();
}

Status HttpServer::listen(const fs::path& socket, unsigned mode) {
    auto bound = listen_socket(socket, mode);
    if (!bound) return pass(bound);
    error_code error;
    state_->acceptor.assign(Local(), bound->get(), error);
    if (error) return fail(Fault::io, "listen on {}: {}", socket.native(), error.message());
    bound->release();
    state_->path = socket;
    state_->accept();
    return {};
}

void HttpServer::stop() {
    if (state_->stopped) return;
    state_->stopped = true;
    error_code ignored;
    state_->retry.cancel();
    state_->acceptor.close(ignored);
    for (auto* session : std::set<Session*>(state_->sessions)) session->close();
    if (!state_->path.empty()) ::unlink(state_->path.c_str());
}

std::size_t HttpServer::connections() const {
    return state_->sessions.size();
}

std::chrono::steady_clock::time_point HttpServer::last_activity() const {
    return state_->last_activity;
}

}  // namespace kab::api
