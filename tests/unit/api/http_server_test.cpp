// The server against what it should never be sent, and its socket.
#include <sys/stat.h>

#include "tests/unit/api/api_fixture.h"

namespace kab::api::testing {
namespace {

using HttpServerTest = ApiTest;

TEST_F(HttpServerTest, MalformedRequestsAreAnsweredAndTheServerGoesOn) {
    start();
    struct Case {
        std::string bytes;
        int status;  ///< 0: just closed
    };
    const std::string post = "POST /v1/evaluations HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k\r\n";
    for (const auto& [bytes, status] : std::vector<Case>{
             {"\r\n\r\nnonsense\r\n\r\n", 400},
             {"GET\r\n\r\n", 400},
             {"GET /v1/version HTTP/9.9\r\n\r\n", 400},
             {"GET /v1/version HTTP/1.1\r\nbad header\r\n\r\n", 400},
             {std::string(1000, '\0') + "\r\n\r\n", 400},
             {"\x16\x03\x01\x02 tls hello\r\n\r\n", 400},
             {"GET /v1/version HTTP/1.1\r\nX: " + std::string(40000, 'x') + "\r\n\r\n", 431},
             {post + "Content-Length: 99999999999\r\n\r\n", 413},
             {post + "Content-Length: -1\r\n\r\n", 400},
             {post + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc", 400},
             {post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 0},
             {"GET /v1/version HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", 413},
             {"BREW /v1/version HTTP/1.1\r\nHost: x\r\n\r\n", 405},
         }) {
        RawClient client(socket());
        client.send(bytes);
        client.receive_until("\r\n\r\n");
        EXPECT_EQ(client.answer().status, status) << bytes.substr(0, 60);
        EXPECT_EQ(get("/v1/version").status, 200) << "after " << bytes.substr(0, 60);
    }
}

TEST_F(HttpServerTest, BodiesOverTheLimitAreRefusedThoughSentWhole) {
    start();
    const std::string body(ordinary_body_bytes + 1, 'x');
    EXPECT_EQ(request("POST", "/v1/evaluations", body, "Idempotency-Key: k\r\n").status, 413);
    // Without a length: found out on the way.
    std::string chunked = "POST /v1/evaluations HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    const std::string piece(1U << 20, 'x');
    for (int i = 0; i < 6; ++i) chunked += fmt::format("{:x}\r\n{}\r\n", piece.size(), piece);
    chunked += "0\r\n\r\n";
    EXPECT_EQ(send(chunked).status, 413);
    EXPECT_EQ(request("PUT", "/v1/blobs/" + std::string(64, 'a'), body).status, 201);
    EXPECT_TRUE(service_.submissions.empty());
}

TEST_F(HttpServerTest, ABodyThatWaitsForAnInvitationGetsOne) {
    start();
    const std::string head =
        "PUT /v1/blobs/" + std::string(64, 'a') + " HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n";
    RawClient client(socket());
    client.send(head + "Content-Length: 5\r\n\r\n");
    ASSERT_TRUE(client.receive_until("\r\n\r\n"));
    EXPECT_EQ(client.received, "HTTP/1.1 100 Continue\r\n\r\n");
    client.received.clear();
    client.send("hello");
    ASSERT_TRUE(client.receive_until("\"bytes\":5"));
    EXPECT_EQ(client.answer().status, 201);
    EXPECT_EQ(on_loop([&] { return service_.blobs.at(std::string(64, 'a')); }), "hello");
    // One that would be refused anyway is refused at once, unsent.
    RawClient large(socket());
    large.send(head + "Content-Length: 99999999999\r\n\r\n");
    large.receive_until("\r\n\r\n");
    EXPECT_EQ(large.answer().status, 413);
}

TEST_F(HttpServerTest, OneConnectionServesManyRequests) {
    start();
    RawClient client(socket());
    for (int i = 0; i < 3; ++i) {
        client.received.clear();
        ASSERT_TRUE(client.send("GET /v1/version HTTP/1.1\r\nHost: x\r\n\r\n"));
        ASSERT_TRUE(client.receive_until("\"version\":\"1.2.3\""));
    }
}

TEST_F(HttpServerTest, AbortedBodiesLeaveNothingBehind) {
    start();
    for (int i = 0; i < 20; ++i) {
        RawClient client(socket());
        client.send("PUT /v1/blobs/" + std::string(64, 'a') + " HTTP/1.1\r\nContent-Length: 1000\r\n\r\nabc");
    }
    EXPECT_EQ(get("/v1/version").status, 200);
    while (on_loop([&] { return server_->connections(); }) > 0) std::this_thread::yield();
    EXPECT_TRUE(service_.blobs.empty());
}

TEST_F(HttpServerTest, SilentConnectionsAreClosed) {
    auto strict = options();
    strict.limits.idle = std::chrono::milliseconds(50);
    strict.limits.body = std::chrono::milliseconds(50);
    start(strict);
    RawClient silent(socket()), slow(socket());
    slow.send("PUT /v1/blobs/" + std::string(64, 'a') + " HTTP/1.1\r\nContent-Length: 1000\r\n\r\nabc");
    silent.receive_all();
    slow.receive_all();
    // A connection is forgotten in a turn of the loop after the one that closes its socket.
    const auto connections = [&] { return server_->connections(); };
    for (int turns = 0; turns < 1000 && on_loop(connections) > 0; ++turns) {
    }
    EXPECT_EQ(on_loop(connections), 0U);
}

TEST_F(HttpServerTest, ConnectionsOverTheLimitWaitTheirTurn) {
    auto small = options();
    small.limits.connections = 2;
    start(small);
    auto first = std::make_unique<RawClient>(socket());
    RawClient second(socket()), third(socket());
    const std::string ask = "GET /v1/version HTTP/1.1\r\nHost: x\r\n\r\n";
    for (auto* client : {first.get(), &second}) {
        client->send(ask);
        ASSERT_TRUE(client->receive_until("1.2.3"));
    }
    third.send(ask);
    EXPECT_EQ(on_loop([&] { return server_->connections(); }), 2U);
    first.reset();
    EXPECT_TRUE(third.receive_until("1.2.3"));
}

TEST_F(HttpServerTest, SocketBelongsToItsOwnerAlone) {
    start();
    struct stat info {};
    ASSERT_EQ(::stat(socket().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0600U);
    stop();
    EXPECT_FALSE(fs::exists(socket()));
}

TEST_F(HttpServerTest, SocketsModeDoesNotDependOnTheUmask) {
    auto shared = options();
    shared.socket_mode = 0660;
    const auto before = ::umask(022);
    start(shared);
    EXPECT_EQ(::umask(before), 022U) << "the umask was not put back";
    struct stat info {};
    ASSERT_EQ(::stat(socket().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0660U);
}

TEST_F(HttpServerTest, SocketOfADeadDaemonIsReplacedAndOfALiveOneIsNot) {
    {
        UniqueFd dead(::socket(AF_UNIX, SOCK_STREAM, 0));
        sockaddr_un name{};
        name.sun_family = AF_UNIX;
        socket().native().copy(name.sun_path, sizeof(name.sun_path) - 1);
        ASSERT_EQ(::bind(dead.get(), reinterpret_cast<sockaddr*>(&name), sizeof(name)), 0);
    }
    ASSERT_TRUE(fs::exists(socket()));
    start();
    EXPECT_EQ(get("/v1/version").status, 200);
    boost::asio::io_context other_io{1};
    FakeService other_service;
    ApiServer other(other_io, other_service, *reader_, options());
    const auto refused = other.start();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().fault, Fault::conflict);
    other.stop();
    EXPECT_EQ(get("/v1/version").status, 200) << "the other took the socket away";
}

TEST_F(HttpServerTest, FileInTheWayIsNotRemoved) {
    ASSERT_TRUE(write_file(socket(), "precious"));
    boost::asio::io_context io{1};
    ApiServer server(io, service_, *reader_, options());
    const auto refused = server.start();
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().text().find("in the way"), std::string::npos);
    server.stop();
    EXPECT_EQ(read_file(socket()).value_or(""), "precious");
}

TEST_F(HttpServerTest, PathsLongerThanASocketAddressWork) {
    const auto deep = directory_->path() / std::string(100, 'd') / std::string(100, 'e');
    ASSERT_TRUE(make_directories(deep));
    auto far = options();
    far.socket = deep / "kabd.sock";
    start(far);
    EXPECT_TRUE(fs::is_socket(far.socket));
    stop();
    EXPECT_FALSE(fs::exists(far.socket));
}

TEST_F(HttpServerTest, StopEndsStreamsAndRequestsUnderWay) {
    start();
    RawClient stream(socket()), half(socket());
    stream.send("GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n");
    ASSERT_TRUE(stream.receive_until("\r\n\r\n"));
    half.send("GET /v1/ver");
    on_loop([&] { server_->stop(); });
    stream.receive_all();
    half.receive_all();
    EXPECT_FALSE(RawClient(socket()).connected());
    // The coordinator goes on announcing while it ends.
    announce();
}

}  // namespace
}  // namespace kab::api::testing
