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

/// What comes of a kab-host that says it speaks this protocol.
std::string greeted_by(int major, int minor) {
    const auto directory = TempDir::make("kab-host-test-");
    if (!directory) return directory.error().text();
    msg::Hello hello;
    hello.role = "kab-host";
    hello.major = major;
    hello.minor = minor;
    hello.build = "other";
    const auto words = directory->path() / "hello", program = directory->path() / "kab-host";
    const auto script = "#!/bin/sh\ncat '" + words.string() + "'\nexec cat >/dev/null\n";
    for (const auto& written : {write_file(words, frame(msg::encode(hello))), write_file(program, script)})
        if (!written) return written.error().text();
    fs::permissions(program, fs::perms::owner_all);
    boost::asio::io_context context;
    Ear ear(context);
    LocalHost host(context.get_executor(), program);
    host.start(ear);
    context.run_for(std::chrono::minutes(1));  // far more than it takes
    host.stop();
    return ear.heard;
}

TEST(LocalHost, OfThisProtocolIsUp) {
    EXPECT_EQ(greeted_by(msg::protocol_major, msg::protocol_minor), "up: other");
}

TEST(LocalHost, OfAnotherMajorOrWithoutAWordOfItsAgentIsRefusedAtOnce) {
    EXPECT_EQ(greeted_by(1, 1),
              "lost: kab-host: speaks protocol 1.1, kabd speaks 1.2; install the same version of both");
    EXPECT_EQ(greeted_by(2, 2),
              "lost: kab-host: speaks protocol 2.2, kabd speaks 1.2; install the same version of both");
}

}  // namespace
}  // namespace kab
