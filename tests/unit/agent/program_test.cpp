// The static program as a booted system starts it.
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "agent/guest/channel.h"
#include "common/files.h"

namespace kab::guest {
namespace {

const std::string program = std::string(KAB_BINARY_DIR) + "/bin/kab-agent";

/// Starts kab-agent with `channel` (if any) as its descriptor 3.
pid_t start(std::vector<std::string> arguments, int channel = -1) {
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    if (channel >= 0) ::posix_spawn_file_actions_adddup2(&actions, channel, 3);
    arguments.insert(arguments.begin(), program);
    std::vector<char*> words;
    for (auto& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    pid_t pid = -1;
    EXPECT_EQ(::posix_spawn(&pid, program.c_str(), &actions, nullptr, words.data(), environ), 0) << program;
    ::posix_spawn_file_actions_destroy(&actions);
    return pid;
}

int exit_status(pid_t pid) {
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/// Sends `message` to a new kab-agent; gives what it says until it ends.
std::vector<msg::Message> converse(const msg::Message& message, int& status) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    UniqueFd agent_end(ends[1]);
    Channel host{UniqueFd(ends[0]), "agent"};
    const pid_t pid = start({"--channel", "fd:3"}, agent_end.get());
    agent_end.reset();
    EXPECT_TRUE(host.send(message));
    std::vector<msg::Message> heard;
    while (auto next = host.receive()) heard.push_back(std::move(*next));
    status = exit_status(pid);
    return heard;
}

TEST(Program, SaysHelloAndCarriesOutItsPlan) {
    int status = -1;
    const auto heard = converse(msg::AgentPlan{}, status);
    EXPECT_EQ(status, 0);
    ASSERT_EQ(heard.size(), 2U);
    EXPECT_EQ(std::get<msg::AgentHello>(heard[0]).major, msg::protocol_major);
    EXPECT_FALSE(std::get<msg::AgentHello>(heard[0]).release.empty());
    EXPECT_EQ(std::get<msg::AgentDone>(heard[1]).runs, 0);
}

TEST(Program, ReportsWhatItCannotDoAndFails) {
    msg::RunOrder order;
    order.seq = 1;
    order.workload = "no-such";
    int status = -1;
    const auto heard = converse(msg::AgentPlan{{order}, 0}, status);
    EXPECT_EQ(status, 1);
    ASSERT_EQ(heard.size(), 2U);
    EXPECT_THAT(std::get<msg::AgentError>(heard[1]).message, testing::HasSubstr("no workload 'no-such'"));
}

TEST(Program, RefusesArgumentsItDoesNotKnow) {
    EXPECT_EQ(exit_status(start({"--chanel", "fd:3"})), 2);
    EXPECT_EQ(exit_status(start({"--channel", "fd:77"})), 2);
}

TEST(Program, NeedsNoSharedLibraries) {
    const auto bytes = read_file(program);
    ASSERT_TRUE(bytes) << bytes.error().text();
    EXPECT_LT(bytes->size(), 4U << 20);
    Elf64_Ehdr header;
    ASSERT_GE(bytes->size(), sizeof header);
    std::memcpy(&header, bytes->data(), sizeof header);
    for (int i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment;
        std::memcpy(&segment, bytes->data() + header.e_phoff + i * sizeof segment, sizeof segment);
        EXPECT_NE(segment.p_type, static_cast<Elf64_Word>(PT_INTERP)) << "asks for a dynamic loader";
    }
}

}  // namespace
}  // namespace kab::guest
