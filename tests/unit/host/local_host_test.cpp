#include "daemon/host/local_host.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "common/files.h"

namespace kab {
namespace {

/// Ends at the first word of a host.
class Ear final : public HostListener {
  public:
    explicit Ear(boost::asio::io_context& context) : context_(context) {}
    void host_up(const msg::Hello& hello) override { hear("up: " + hello.build); }
    void host_lost(const std::string& detail) override { hear("lost: " + detail); }
    void boot_progress(const msg::BootProgress&) override { hear("progress"); }
    void boot_hello(const msg::BootHello&) override { hear("hello"); }
    void run_finished(const msg::RunFinished&) override { hear("run"); }
    void boot_finished(const msg::BootFinished&) override { hear("boot"); }
    std::string heard;

  private:
    void hear(const std::string& what) {
        if (heard.empty()) heard = what;
        context_.stop();
    }
    boost::asio::io_context& context_;
};

/// Asks for a boot when the host is up, and ends when it is lost.
class Asker final : public HostListener {
  public:
    Asker(boost::asio::io_context& context, msg::BootRequest request)
        : context_(context), request_(std::move(request)) {}
    void host_up(const msg::Hello&) override { host->boot(request_); }
    void host_lost(const std::string& detail) override {
        lost = detail;
        context_.stop();
    }
    void boot_progress(const msg::BootProgress&) override {}
    void boot_hello(const msg::BootHello&) override {}
    void run_finished(const msg::RunFinished&) override {}
    void boot_finished(const msg::BootFinished&) override {}
    LocalHost* host = nullptr;
    std::string lost;

  private:
    boost::asio::io_context& context_;
    msg::BootRequest request_;
};

/// A program that says hello and then hears all and answers nothing; its path.
Result<fs::path> silent_host(const fs::path& directory, int major, int minor) {
    msg::Hello hello;
    hello.role = "kab-host";
    hello.major = major;
    hello.minor = minor;
    hello.build = "other";
    const auto words = directory / "hello", program = directory / "kab-host";
    const auto script = "#!/bin/sh\ncat '" + words.string() + "'\nexec cat 3>&1 >/dev/null\n";
    for (const auto& written : {write_file(words, frame(msg::encode(hello))), write_file(program, script)})
        if (!written) return pass(written);
    fs::permissions(program, fs::perms::owner_all);
    return program;
}

/// What comes of a kab-host that says it speaks this protocol.
std::string greeted_by(int major, int minor) {
    const auto directory = TempDir::make("kab-host-test-");
    if (!directory) return directory.error().text();
    const auto program = silent_host(directory->path(), major, minor);
    if (!program) return program.error().text();
    boost::asio::io_context context;
    Ear ear(context);
    LocalHost host(context.get_executor(), *program);
    host.start(ear);
    context.run_for(std::chrono::minutes(1));  // far more than it takes
    host.stop();
    return ear.heard;
}

TEST(LocalHost, OfThisProtocolIsUp) {
    EXPECT_EQ(greeted_by(msg::protocol_major, msg::protocol_minor), "up: other");
}

msg::BootRequest request_of(Nanoseconds boot, Nanoseconds run, std::size_t runs) {
    msg::BootRequest request;
    request.attempt = "A";
    request.boot_limit_ns = boot.count();
    request.run_limit_ns = run.count();
    request.plan.runs.resize(runs);
    return request;
}

TEST(LocalHost, ThatHangsInABootIsLost) {
    const auto directory = TempDir::make("kab-host-test-");
    ASSERT_TRUE(directory) << directory.error().text();
    const auto program = silent_host(directory->path(), msg::protocol_major, msg::protocol_minor);
    ASSERT_TRUE(program) << program.error().text();
    boost::asio::io_context context;
    Asker asker(context, request_of(std::chrono::milliseconds(1), std::chrono::milliseconds(2), 3));
    LocalHost host(context.get_executor(), *program, std::chrono::milliseconds(10));
    asker.host = &host;
    host.start(asker);
    context.run_for(std::chrono::minutes(1));  // far more than it takes
    host.stop();
    EXPECT_EQ(asker.lost, "kab-host did not send the end of a boot within 33ms");
}

TEST(LocalHost, HasAllTheTimeOfItsOwnDeadlines) {
    using std::chrono::seconds;
    EXPECT_EQ(longest_boot(request_of(seconds(60), seconds(300), 0)), seconds(9 * 60 + 300));
    EXPECT_EQ(longest_boot(request_of(seconds(60), seconds(300), 1)), seconds(9 * 60 + 3 * 300));
    EXPECT_EQ(longest_boot(request_of(seconds(60), seconds(300), 20)), seconds(9 * 60 + 41 * 300));
    EXPECT_GT(longest_boot(request_of(Nanoseconds::max(), Nanoseconds::max(), 1)), std::chrono::hours(24 * 365));
}

TEST(LocalHost, OfAnotherMajorOrWithoutAWordOfItsAgentIsRefusedAtOnce) {
    EXPECT_EQ(greeted_by(1, 1),
              "lost: kab-host: speaks protocol 1.1, kabd speaks 1.2; install the same version of both");
    EXPECT_EQ(greeted_by(2, 2),
              "lost: kab-host: speaks protocol 2.2, kabd speaks 1.2; install the same version of both");
}

}  // namespace
}  // namespace kab
