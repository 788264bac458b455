#pragma once
// A server with a fake coordinator and a real store, and a client that speaks plain bytes.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <map>
#include <set>
#include <thread>

#include "common/ids.h"
#include "daemon/api/api_server.h"
#include "protocol/api/json.h"

namespace kab::api::testing {

class FakeService final : public Service {
  public:
    Result<std::string> submit(const Submission& submission) override {
        submissions.push_back(submission);
        if (error) return tl::unexpected(*error);
        return uids.try_emplace(submission.idempotency_key, "01J0000000000000000000000" + std::to_string(uids.size()))
            .first->second;
    }
    Status cancel(const std::string& uid) override {
        cancelled.push_back(uid);
        return error ? Status(tl::unexpected(*error)) : Status();
    }
    Status put_blob(const std::string& sha256, const std::string& bytes) override {
        if (error) return tl::unexpected(*error);
        blobs[sha256] = bytes;
        return {};
    }
    bool has_blob(const std::string& sha256) const override { return blobs.contains(sha256); }
    std::vector<ProgressEvent> progress() const override { return present; }
    bool idle() const override { return is_idle; }
    bool busy(const std::string& uid) const override { return uid == busy_with; }
    void add_listener(Listener* listener) override { listeners.insert(listener); }
    void remove_listener(Listener* listener) override { listeners.erase(listener); }

    std::optional<Error> error;  ///< what the next calls answer
    std::vector<Submission> submissions;
    std::map<std::string, std::string> uids, blobs;
    std::vector<std::string> cancelled;
    std::vector<ProgressEvent> present;
    std::set<Listener*> listeners;
    bool is_idle = true;
    std::string busy_with;
};

struct RawAnswer {
    int status = 0;
    std::string head, body;
    Json json() const { return parse_json(body).value_or(Json()); }
    std::string code() const { return json().value("code", ""); }
};

/// A connection that sends and receives bytes; every wait ends after ten seconds.
class RawClient {
  public:
    explicit RawClient(const fs::path& socket) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un name{};
        name.sun_family = AF_UNIX;
        socket.native().copy(name.sun_path, sizeof(name.sun_path) - 1);
        connected_ = ::connect(fd_.get(), reinterpret_cast<sockaddr*>(&name), sizeof(name)) == 0;
    }
    bool connected() const { return connected_; }
    bool send(const std::string& bytes) { return write_all(fd_.get(), bytes).has_value(); }
    void shrink_receive_buffer() {
        const int bytes = 4096;
        ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
    }

    /// More bytes into `received`; false at the end of the connection or after ten seconds.
    bool receive() {
        pollfd wait{fd_.get(), POLLIN, 0};
        if (::poll(&wait, 1, 10'000) != 1) return false;
        char buffer[65536];
        const auto bytes = ::recv(fd_.get(), buffer, sizeof(buffer), 0);
        if (bytes <= 0) return false;
        received.append(buffer, static_cast<std::size_t>(bytes));
        return true;
    }
    /// Something can be received now.
    bool has_bytes() const {
        pollfd wait{fd_.get(), POLLIN, 0};
        return ::poll(&wait, 1, 0) == 1;
    }
    void receive_all() {
        while (receive()) {
        }
    }
    bool receive_until(const std::string& text) {
        while (received.find(text) == std::string::npos)
            if (!receive()) return false;
        return true;
    }

    /// The answer in `received`, which must hold it whole.
    RawAnswer answer() const {
        RawAnswer answer;
        const auto end = received.find("\r\n\r\n");
        if (end == std::string::npos) return answer;
        answer.head = received.substr(0, end);
        answer.body = received.substr(end + 4);
        if (answer.head.starts_with("HTTP/1.1 ")) answer.status = std::stoi(answer.head.substr(9, 3));
        return answer;
    }

    std::string received;

  private:
    UniqueFd fd_;
    bool connected_ = false;
};

/// The lines of a chunked body, heartbeats and an unfinished last line left out.
inline std::vector<Json> event_lines(const std::string& body) {
    std::string text;
    for (std::size_t at = 0;;) {
        const auto end = body.find("\r\n", at);
        if (end == std::string::npos) break;
        const auto size = std::stoul(body.substr(at, end - at), nullptr, 16);
        if (size == 0) break;
        text += body.substr(end + 2, size);
        if (end + 2 + size + 2 > body.size()) break;
        at = end + 2 + size + 2;
    }
    std::vector<Json> lines;
    for (std::size_t at = 0;;) {
        const auto end = text.find('\n', at);
        if (end == std::string::npos) return lines;
        if (end > at) lines.push_back(parse_json(text.substr(at, end - at)).value_or(Json()));
        at = end + 1;
    }
}

class ApiTest : public ::testing::Test {
  protected:
    void SetUp() override {
        auto made = TempDir::make("kab-api-");
        ASSERT_TRUE(made) << made.error().text();
        directory_.emplace(std::move(*made));
        writer_ = open(store::Store::Mode::read_write);
        reader_ = open(store::Store::Mode::read_only);
        ASSERT_TRUE(writer_ && reader_);
    }
    void TearDown() override { stop(); }

    std::unique_ptr<store::Store> open(store::Store::Mode mode) {
        auto store = store::Store::open(directory_->path() / "kab.db", mode);
        EXPECT_TRUE(store) << store.error().text();
        return store ? std::move(*store) : nullptr;
    }
    fs::path socket() const { return directory_->path() / "kabd.sock"; }

    ApiOptions options() {
        ApiOptions options;
        options.socket = socket();
        options.info = {"1.2.3", directory_->path().string(), true, [this] { shut_down_.set_value(); }};
        return options;
    }
    /// Runs on the server's thread; returns when it has run.
    template <class Body>
    auto on_loop(Body body) {
        std::packaged_task<decltype(body())()> task(std::move(body));
        auto result = task.get_future();
        boost::asio::post(io_, std::ref(task));
        return result.get();
    }

    void start(const ApiOptions& options) {
        server_.emplace(io_, service_, *reader_, options);
        const auto started = server_->start();
        ASSERT_TRUE(started) << started.error().text();
        thread_ = std::thread([this] {
            const auto work = boost::asio::make_work_guard(io_);
            io_.run();
        });
    }
    void start() { start(options()); }
    void stop() {
        if (!thread_.joinable()) return;
        on_loop([this] { server_.reset(); });
        io_.stop();
        thread_.join();
    }
    RawAnswer send(const std::string& bytes) {
        RawClient client(socket());
        EXPECT_TRUE(client.connected());
        client.send(bytes);
        client.receive_all();
        return client.answer();
    }
    RawAnswer request(const std::string& method, const std::string& target, const std::string& body = {},
                      const std::string& headers = {}) {
        return send(fmt::format("{} {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n{}\r\n{}",
                                method, target, body.size(), headers, body));
    }
    RawAnswer get(const std::string& target) { return request("GET", target); }

    /// An evaluation in the database; its uid.
    std::string add_evaluation(const std::string& experiment) {
        store::NewEvaluation row;
        row.uid = uids_.next();
        row.experiment = experiment;
        row.question = "does it matter?";
        row.spec_text = "experiment: " + experiment;
        row.experiment_json = "{}";
        row.arms = {{"base", "", false, "measured", "{}"}, {"change", "base", false, "measured", "{}"}};
        row.points = {{"ipcns-exit", 0, "", "{}"}};
        row.metrics = {{"ipcns-exit", "elapsed", "ns", "lower", "log"}};
        write([&](store::Writer& writer) { return writer.add_evaluation(row, 1); });
        return row.uid;
    }
    void set_evaluation(const std::string& uid, const std::string& from, const std::string& to) {
        write([&](store::Writer& writer) { return writer.set_evaluation(uid, from, to, "why", 2); });
    }
    void write(const std::function<Status(store::Writer&)>& body) {
        const auto written = writer_->write(body);
        ASSERT_TRUE(written) << written.error().text();
    }
    /// What the coordinator does after a commit.
    void announce() {
        on_loop([this] {
            for (auto* listener : service_.listeners) listener->transitions_committed();
        });
    }

    std::optional<TempDir> directory_;
    std::unique_ptr<store::Store> writer_, reader_;
    FakeService service_;
    boost::asio::io_context io_{1};
    std::optional<ApiServer> server_;
    std::thread thread_;
    std::promise<void> shut_down_;
    SystemClock clock_;
    UlidSource uids_{clock_};
};

}  // namespace kab::api::testing
