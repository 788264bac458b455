#include "tests/unit/api/api_fixture.h"

namespace kab::api::testing {
namespace {

class EventsTest : public ApiTest {
  protected:
    RawClient listen_to(const std::string& query) {
        RawClient client(socket());
        client.send("GET /v1/events" + query + " HTTP/1.1\r\nHost: x\r\n\r\n");
        return client;
    }
    static std::vector<Json> lines_of(const RawClient& client) { return event_lines(client.answer().body); }
    void progress(const std::string& uid, std::int64_t done) {
        on_loop([&] {
            ProgressEvent event;
            event.evaluation = uid;
            event.phase = "build";
            event.done = done;
            for (auto* listener : service_.listeners) listener->progress(event);
        });
    }
    std::int64_t last_seq() { return writer_->last_seq().value(); }
};

TEST_F(EventsTest, ReaderGetsHistoryThenWhatHappensLive) {
    start();
    const auto uid = add_evaluation("a");
    set_evaluation(uid, "queued", "freezing");
    auto client = listen_to("?after=0");
    ASSERT_TRUE(client.receive_until("\"to\":\"freezing\""));
    set_evaluation(uid, "freezing", "building");
    announce();
    ASSERT_TRUE(client.receive_until("\"to\":\"building\""));
    const auto lines = lines_of(client);
    std::int64_t before = 0;
    for (const auto& line : lines) {
        EXPECT_EQ(line.at("type"), "transition");
        EXPECT_GT(line.at("seq").get<std::int64_t>(), before);
        before = line.at("seq").get<std::int64_t>();
    }
    EXPECT_EQ(before, last_seq());
    EXPECT_NE(client.answer().head.find("application/x-ndjson"), std::string::npos);
}

TEST_F(EventsTest, ReadingIsResumedAfterASeq) {
    start();
    const auto uid = add_evaluation("a");
    set_evaluation(uid, "queued", "freezing");
    const auto seen = last_seq();
    set_evaluation(uid, "freezing", "building");
    auto client = listen_to(fmt::format("?after={}", seen));
    ASSERT_TRUE(client.receive_until("\"to\":\"building\""));
    EXPECT_EQ(lines_of(client).size(), 1U);
}

TEST_F(EventsTest, OnlyTheEvaluationThatWasAskedFor) {
    start();
    const auto one = add_evaluation("one");
    const auto two = add_evaluation("two");
    auto client = listen_to("?after=0&evaluation=two");
    ASSERT_TRUE(client.receive_until(two));
    progress(one, 1);
    progress(two, 2);
    set_evaluation(one, "queued", "freezing");
    set_evaluation(two, "queued", "freezing");
    announce();
    ASSERT_TRUE(client.receive_until("freezing"));
    EXPECT_EQ(client.received.find(one), std::string::npos);
    EXPECT_NE(client.received.find("\"type\":\"progress\""), std::string::npos);
}

TEST_F(EventsTest, HostsConcernEveryEvaluation) {
    start();
    const auto uid = add_evaluation("one");
    auto client = listen_to("?after=0&evaluation=one");
    ASSERT_TRUE(client.receive_until(uid));
    write([&](store::Writer& writer) { return writer.set_host({"local", "local", "qemu", "down", "{}", 1}); });
    announce();
    ASSERT_TRUE(client.receive_until("\"to\":\"down\""));
    EXPECT_EQ(lines_of(client).back().at("object"), "host");
}

TEST_F(EventsTest, BadQueriesAreRefused) {
    start();
    add_evaluation("a");
    for (const auto* query : {"?after=-1", "?after=x", "?after=1x", "?after=99999999999999999999", "?after=1&after=2"})
        EXPECT_EQ(get(std::string("/v1/events") + query).status, 400) << query;
    EXPECT_EQ(get("/v1/events?evaluation=nosuch").status, 404);
}

TEST_F(EventsTest, SilentStreamShowsThatItLives) {
    auto quick = options();
    quick.limits.heartbeat = std::chrono::milliseconds(20);
    start(quick);
    auto client = listen_to("?after=0");
    EXPECT_TRUE(client.receive_until("1\r\n\n\r\n1\r\n\n\r\n"));
    EXPECT_TRUE(lines_of(client).empty());
}

TEST_F(EventsTest, WhatConcernsOthersDoesNotPutTheHeartbeatOff) {
    auto quick = options();
    quick.limits.heartbeat = std::chrono::milliseconds(200);
    start(quick);
    const auto mine = add_evaluation("mine");
    const auto other = add_evaluation("other");
    auto client = listen_to(fmt::format("?after={}&evaluation={}", last_seq(), mine));
    ASSERT_TRUE(client.receive_until("\r\n\r\n"));
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    for (bool even = true; !client.has_bytes() && std::chrono::steady_clock::now() < until; even = !even) {
        write([&](store::Writer& writer) {
            return writer.set_arm(other, "base", even ? "pending" : "building", even ? "building" : "pending", "", 1);
        });
        announce();
    }
    ASSERT_TRUE(client.has_bytes()) << "no sign of life in ten seconds";
    EXPECT_TRUE(client.receive_until("1\r\n\n\r\n"));
    EXPECT_TRUE(lines_of(client).empty());
}

TEST_F(EventsTest, SlowReaderLosesProgressButNoTransition) {
    start();
    const auto uid = add_evaluation("a");
    auto client = listen_to("?after=0");
    ASSERT_TRUE(client.receive_until("queued"));
    // Far more than the buffers between the two hold, while nobody reads.
    constexpr int count = 3000, progress_count = 20000;
    const std::string detail(2000, 'd');
    write([&](store::Writer& writer) -> Status {
        for (int i = 0; i < count; ++i) {
            const bool even = i % 2 == 0;
            if (auto set = writer.set_arm(uid, "base", even ? "pending" : "building", even ? "building" : "pending",
                                          detail, i);
                !set)
                return set;
        }
        return {};
    });
    announce();
    on_loop([&] {
        for (int i = 1; i <= progress_count; ++i) {
            ProgressEvent event;
            event.evaluation = uid;
            event.done = i;
            for (auto* listener : service_.listeners) listener->progress(event);
        }
    });
    ASSERT_TRUE(client.receive_until(fmt::format("\"done\":{},", progress_count)));
    std::int64_t expected = 0;
    int progress_lines = 0;
    for (const auto& line : lines_of(client)) {
        if (line.at("type") == "progress") {
            ++progress_lines;
            continue;
        }
        ++expected;
        ASSERT_EQ(line.at("seq"), expected);
    }
    EXPECT_EQ(expected, last_seq());
    EXPECT_LT(progress_lines, 10);
}

TEST_F(EventsTest, ReaderThatTakesNothingIsLeftAndCanComeBack) {
    auto strict = options();
    strict.limits.write = std::chrono::milliseconds(100);
    start(strict);
    const auto uid = add_evaluation("a");
    const std::string detail(2000, 'd');
    write([&](store::Writer& writer) -> Status {
        for (int i = 0; i < 1000; ++i) {
            const bool even = i % 2 == 0;
            if (auto set = writer.set_arm(uid, "base", even ? "pending" : "building", even ? "building" : "pending",
                                          detail, i);
                !set)
                return set;
        }
        return {};
    });
    auto stuck = listen_to("?after=0");
    while (on_loop([&] { return server_->connections(); }) == 0) std::this_thread::yield();
    while (on_loop([&] { return server_->connections(); }) > 0) std::this_thread::yield();  // left after 100 ms
    stuck.receive_all();
    const auto lines = lines_of(stuck);
    ASSERT_FALSE(lines.empty());
    const auto seen = lines.back().at("seq").get<std::int64_t>();
    ASSERT_LT(seen, last_seq());
    auto again = listen_to(fmt::format("?after={}", seen));
    ASSERT_TRUE(again.receive_until(fmt::format("\"seq\":{},", last_seq())));
    EXPECT_EQ(lines_of(again).front().at("seq"), seen + 1);
}

TEST_F(EventsTest, ReaderThatGoesAwayIsNoticedAtOnce) {
    start();
    {
        auto client = listen_to("?after=0");
        ASSERT_TRUE(client.receive_until("\r\n\r\n"));
        EXPECT_EQ(on_loop([&] { return server_->connections(); }), 1U);
    }
    // The heartbeat of ten seconds would not notice it within this test's time limit for a wait.
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (on_loop([&] { return server_->connections(); }) > 0 && std::chrono::steady_clock::now() < until)
        std::this_thread::yield();
    EXPECT_EQ(on_loop([&] { return server_->connections(); }), 0U);
}

TEST_F(EventsTest, ReadersAreLimitedButOrdinaryRequestsGoOn) {
    auto small = options();
    small.limits.streams = 2;
    start(small);
    auto one = listen_to("");
    auto two = listen_to("");
    ASSERT_TRUE(one.receive_until("\r\n\r\n"));
    ASSERT_TRUE(two.receive_until("\r\n\r\n"));
    EXPECT_EQ(get("/v1/events").status, 503);
    EXPECT_EQ(get("/v1/version").status, 200);
}

}  // namespace
}  // namespace kab::api::testing
