#include "agent/guest/channel.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <thread>

#include "agent/guest/find_channel.h"
#include "agent/guest/modules.h"

namespace kab::guest {
namespace {

using testing::HasSubstr;

std::array<UniqueFd, 2> socket_pair() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

/// More than the buffers of sockets and terminals hold.
msg::RunFinished large_message() {
    msg::RunFinished finished;
    finished.seq = 7;
    for (int i = 0; i < 9000; ++i) {
        msg::Sample sample;
        sample.metric = "metric-" + std::to_string(i);
        sample.value = i;
        finished.samples.push_back(sample);
    }
    return finished;
}

TEST(Channel, LargeMessagesPassWholeThroughSmallBuffers) {
    auto [one, other] = socket_pair();
    const int small = 4096;
    ASSERT_EQ(::setsockopt(one.get(), SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
    Channel from(std::move(one), "from"), to(std::move(other), "to");
    std::thread sender([&from] { EXPECT_TRUE(from.send(large_message())); });
    auto message = to.receive();
    sender.join();
    ASSERT_TRUE(message) << message.error().text();
    EXPECT_EQ(std::get<msg::RunFinished>(*message).samples.size(), 9000U);
}

TEST(Channel, SeveralMessagesInOneReadAreKeptApart) {
    auto [one, other] = socket_pair();
    Channel from(std::move(one), "from"), to(std::move(other), "to");
    ASSERT_TRUE(from.send(msg::RunStarted{1}));
    ASSERT_TRUE(from.send(msg::RunStarted{2}));
    EXPECT_EQ(std::get<msg::RunStarted>(*to.receive()).seq, 1);
    EXPECT_EQ(std::get<msg::RunStarted>(*to.receive()).seq, 2);
}

TEST(Channel, AnEndInTheMiddleOfAMessageIsSaid) {
    auto [one, other] = socket_pair();
    ASSERT_EQ(::write(one.get(), "\x10\0\0\0{", 5), 5);
    one.reset();
    Channel to(std::move(other), "the port");
    const auto message = to.receive();
    ASSERT_FALSE(message);
    EXPECT_THAT(message.error().text(), HasSubstr("the port: the other end is gone in the middle of a message"));
}

TEST(Channel, NonsenseIsAProtocolFault) {
    auto [one, other] = socket_pair();
    ASSERT_EQ(::write(one.get(), "\xff\xff\xff\xff", 4), 4);
    Channel to(std::move(other), "to");
    const auto message = to.receive();
    ASSERT_FALSE(message);
    EXPECT_EQ(message.error().fault, Fault::protocol);
}

TEST(Channel, AnAnswerEndsTheWait) {
    auto [one, other] = socket_pair();
    Channel agent(std::move(one), "agent"), host(std::move(other), "host");
    const SystemClock clock;
    const auto before = clock.steady();
    ASSERT_TRUE(host.send(msg::Shutdown{}));
    agent.await_answer(std::chrono::minutes(5));
    EXPECT_LT(clock.steady() - before, std::chrono::minutes(4));
    auto [gone, closed] = socket_pair();
    closed.reset();
    Channel(std::move(gone), "agent").await_answer(std::chrono::minutes(5));
    EXPECT_LT(clock.steady() - before, std::chrono::minutes(4)) << "a host that is gone is not waited for";
    Channel& silent = host;
    silent.await_answer(std::chrono::milliseconds(1));
}

TEST(OpenChannel, MakesATerminalCarryEveryByte) {
    int master = -1, slave = -1;
    char name[128];
    ASSERT_EQ(::openpty(&master, &slave, name, nullptr, nullptr), 0);
    const UniqueFd keep(slave);
    Channel host{UniqueFd(master), "master"};
    auto agent = open_channel(name);
    ASSERT_TRUE(agent) << agent.error().text();
    // The length prefix of this one contains a line feed, and its text what a cooked terminal would change.
    const msg::AgentError sent{10, "\r\n\x03\x04\x11\x13\x7f" + std::string(200, 'x')};
    ASSERT_TRUE(agent->send(sent));
    auto received = host.receive();
    ASSERT_TRUE(received) << received.error().text();
    EXPECT_EQ(std::get<msg::AgentError>(*received).message, sent.message);
    ASSERT_TRUE(host.send(sent));
    received = agent->receive();
    ASSERT_TRUE(received) << received.error().text();
    EXPECT_EQ(std::get<msg::AgentError>(*received).message, sent.message);
    agent->flush();
}

TEST(OpenChannel, TakesOverADescriptor) {
    auto [one, other] = socket_pair();
    auto agent = open_channel("fd:" + std::to_string(one.release()));
    ASSERT_TRUE(agent) << agent.error().text();
    ASSERT_TRUE(agent->send(msg::RunStarted{3}));
    EXPECT_EQ(std::get<msg::RunStarted>(*Channel(std::move(other), "host").receive()).seq, 3);
}

TEST(OpenChannel, ConnectsToASocket) {
    auto dir = TempDir::make("kab-agent-test");
    ASSERT_TRUE(dir);
    const std::string path = (dir->path() / "channel").string();
    UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(listener.get(), 1), 0);
    auto agent = open_channel(path);
    ASSERT_TRUE(agent) << agent.error().text();
    Channel host(UniqueFd(::accept(listener.get(), nullptr, nullptr)), "host");
    ASSERT_TRUE(agent->send(msg::RunStarted{4}));
    EXPECT_EQ(std::get<msg::RunStarted>(*host.receive()).seq, 4);
}

TEST(OpenChannel, SaysWhatIsWrongWithAPlace) {
    for (const char* place : {"fd:", "fd:x", "fd:-1", "fd:99999", "/no/such/place", "/etc/passwd"}) {
        const auto channel = open_channel(place);
        ASSERT_FALSE(channel) << place;
        EXPECT_THAT(channel.error().text(), HasSubstr(place));
    }
}

TEST(FindChannel, ASerialLineThatIsNoneIsNamed) {
    const auto channel = find_channel("null", std::chrono::milliseconds(1));
    ASSERT_FALSE(channel);
    EXPECT_THAT(channel.error().text(), HasSubstr("/dev/null"));
}

TEST(LoadModules, WithoutAListIsNothingToDo) {
    EXPECT_TRUE(load_modules("/no/such/list").empty());
}

TEST(LoadModules, GoesOnAfterOneThatCannotBeLoaded) {
    auto dir = TempDir::make("kab-agent-test");
    ASSERT_TRUE(dir);
    ASSERT_TRUE(write_file(dir->path() / "load", "first.ko\n\n/no/second.ko\n"));
    const auto problems = load_modules(dir->path() / "load");
    ASSERT_EQ(problems.size(), 2U);
    EXPECT_THAT(problems[0], HasSubstr((dir->path() / "first.ko").string() + ": No such file or directory"));
    EXPECT_THAT(problems[1], HasSubstr("/no/second.ko: No such file or directory"));
}

}  // namespace
}  // namespace kab::guest
