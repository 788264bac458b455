// The client against the real server.
#include "cli/client.h"

#include "common/digest/sha256.h"
#include "tests/unit/api/api_fixture.h"

namespace kab::cli {
namespace {

class ClientTest : public api::testing::ApiTest {
  protected:
    Client client() { return Client(socket()); }
};

TEST_F(ClientTest, CallsAndErrorsGoThrough) {
    start();
    EXPECT_EQ(client().version().value().version, "1.2.3");
    const auto uid = add_evaluation("with space");
    EXPECT_EQ(client().evaluation("with space").value().evaluation.uid, uid);
    EXPECT_EQ(client().evaluations().value().size(), 1U);
    EXPECT_TRUE(client().kernels().value().empty());
    EXPECT_TRUE(client().hosts().value().empty());
    EXPECT_EQ(client().evaluation("nosuch").error().fault, Fault::not_found);
    EXPECT_TRUE(client().cancel(uid));
    on_loop([&] { service_.error = Error{Fault::conflict, "has ended", uid}; });
    const auto refused = client().cancel(uid);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().fault, Fault::conflict);
    EXPECT_EQ(refused.error().text(), uid + ": has ended");
}

TEST_F(ClientTest, SubmissionAndBlobs) {
    start();
    const std::string bytes(5U << 20, 'b');
    const auto sha256 = sha256_hex(bytes);
    EXPECT_FALSE(client().has_blob(sha256).value());
    ASSERT_TRUE(client().put_blob(sha256, bytes));
    EXPECT_TRUE(client().has_blob(sha256).value());
    const auto uid = client().submit({"text", "f.yaml", Json::object(), {{"/p", sha256}}}, "key");
    ASSERT_TRUE(uid) << uid.error().text();
    EXPECT_EQ(client().submit({"text", "f.yaml", Json::object(), {{"/p", sha256}}}, "key").value(), *uid);
    EXPECT_EQ(service_.submissions.size(), 2U);
    // Too large: the daemon's refusal is read although the whole body could not be sent.
    const auto refused = client().submit({std::string(5U << 20, 'x'), "f", Json::object(), {}}, "key");
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("accepted here"), std::string::npos) << refused.error().text();
}

TEST_F(ClientTest, NoDaemonIsToldFromOneThatGoesAway) {
    EXPECT_EQ(client().version().error().fault, Fault::infra);
    EXPECT_FALSE(client().present());
    {
        UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un name{};
        name.sun_family = AF_UNIX;
        socket().native().copy(name.sun_path, sizeof(name.sun_path) - 1);
        ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&name), sizeof(name)), 0);
        ASSERT_EQ(::listen(listener.get(), 1), 0);
        std::thread rude([&] {
            UniqueFd peer(::accept(listener.get(), nullptr, nullptr));
            char buffer[4096];
            EXPECT_GT(::read(peer.get(), buffer, sizeof(buffer)), 0);
        });
        EXPECT_EQ(client().version().error().fault, Fault::infra);
        rude.join();
    }
    EXPECT_FALSE(client().present()) << "a dead daemon's socket";
    const Client nowhere(directory_->path() / "none" / std::string(150, 'x'));
    EXPECT_FALSE(nowhere.present());
    EXPECT_NE(nowhere.version().error().message.find("no daemon answers"), std::string::npos);
    start();
    EXPECT_TRUE(client().present());
}

TEST_F(ClientTest, EventsComeUntilTheDaemonGoes) {
    start();
    const auto uid = add_evaluation("a");
    auto stream = client().events(0, uid);
    ASSERT_TRUE(stream) << stream.error().text();
    auto next = stream->next(std::chrono::seconds(10));
    ASSERT_EQ(next.state, EventStream::State::event);
    EXPECT_EQ(std::get<api::Transition>(*next.event).to, "queued");
    EXPECT_EQ(stream->next(std::chrono::milliseconds(1)).state, EventStream::State::quiet);
    set_evaluation(uid, "queued", "freezing");
    announce();
    next = stream->next(std::chrono::seconds(10));
    ASSERT_EQ(next.state, EventStream::State::event);
    EXPECT_EQ(std::get<api::Transition>(*next.event).to, "freezing");
    stop();
    EXPECT_EQ(stream->next(std::chrono::seconds(10)).state, EventStream::State::closed);
    EXPECT_EQ(stream->next(std::chrono::seconds(10)).state, EventStream::State::closed) << "stays closed";
}

}  // namespace
}  // namespace kab::cli
