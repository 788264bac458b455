#include <sys/stat.h>

#include "common/digest/sha256.h"
#include "tests/unit/api/api_fixture.h"

namespace kab::api::testing {
namespace {

const std::string any_sha256(64, 'a');

TEST_F(ApiTest, VersionSaysWhoServesWhat) {
    start();
    const auto answer = get("/v1/version");
    EXPECT_EQ(answer.status, 200);
    const auto version = from_json<Version>(answer.json());
    ASSERT_TRUE(version) << answer.body;
    EXPECT_EQ(version->version, "1.2.3");
    EXPECT_EQ(version->api, 1);
    EXPECT_EQ(version->pid, ::getpid());
    EXPECT_TRUE(version->is_private);
    EXPECT_TRUE(version->idle);
}

TEST_F(ApiTest, UnknownPathsAndMethodsAreNamed) {
    start();
    auto answer = get("/v1/nothing");
    EXPECT_EQ(answer.status, 404);
    EXPECT_EQ(answer.code(), "not-found");
    answer = request("DELETE", "/v1/kernels");
    EXPECT_EQ(answer.status, 405);
    EXPECT_NE(answer.body.find("only GET"), std::string::npos) << answer.body;
    EXPECT_EQ(get("/v1/evaluations/").status, 404);
    EXPECT_EQ(get("/v1/evaluations/%zz").status, 400);
}

TEST_F(ApiTest, SubmitHandsTheSubmissionOver) {
    start();
    Submit submit{"experiment: x", "x.yaml", Json{{"experiment", "x"}}, {{"/a.patch", any_sha256}}};
    const auto body = dump_json(to_json(submit));
    const auto first = request("POST", "/v1/evaluations", body, "Idempotency-Key: k1\r\n");
    const auto again = request("POST", "/v1/evaluations", body, "Idempotency-Key: k1\r\n");
    const auto other = request("POST", "/v1/evaluations", body, "Idempotency-Key: k2\r\n");
    EXPECT_EQ(first.status, 201) << first.body;
    EXPECT_EQ(first.body, again.body);
    EXPECT_NE(first.body, other.body);
    ASSERT_EQ(service_.submissions.size(), 3U);
    EXPECT_EQ(service_.submissions[0].spec_text, "experiment: x");
    EXPECT_EQ(service_.submissions[0].file_name, "x.yaml");
    EXPECT_EQ(service_.submissions[0].idempotency_key, "k1");
    EXPECT_EQ(service_.submissions[0].experiment.at("experiment"), "x");
    ASSERT_EQ(service_.submissions[0].inputs.size(), 1U);
    EXPECT_EQ(service_.submissions[0].inputs[0].path, "/a.patch");
}

TEST_F(ApiTest, BadSubmissionsAreRefusedBeforeTheService) {
    start();
    const std::string key = "Idempotency-Key: k\r\n";
    const std::string good = R"({"spec_text":"x","file_name":"f","experiment":{},"inputs":[]})";
    struct Case {
        std::string body, headers, message;
    };
    for (const auto& [body, headers, message] : std::vector<Case>{
             {good, "", "Idempotency-Key"},
             {good, "Idempotency-Key: " + std::string(300, 'k') + "\r\n", "Idempotency-Key"},
             {"", key, "JSON"},
             {"{", key, "JSON"},
             {"[]", key, "unexpected JSON"},
             {R"({"spec_text":"x","spec_text":"y"})", key, "duplicate key"},
             {R"({"spec_text":1,"file_name":"f","experiment":{}})", key, "unexpected JSON"},
             {R"({"spec_text":"x","file_name":"f"})", key, "experiment: is missing"},
             {R"({"spec_text":"x","file_name":"f","experiment":{},"inputs":[{"path":"/p"}]})", key,
              "inputs[0].sha256: is missing"},
             {R"({"spec_text":"x","file_name":"f","experiment":{},"inputs":[{"path":"/p","sha256":"no"}]})", key,
              "64 lower-case"},
             {std::string(1000, '['), key, "levels"},
         }) {
        const auto answer = request("POST", "/v1/evaluations", body, headers);
        EXPECT_EQ(answer.status, 400) << body;
        EXPECT_NE(answer.json().value("message", "").find(message), std::string::npos) << body << " -> " << answer.body;
    }
    EXPECT_TRUE(service_.submissions.empty());
}

TEST_F(ApiTest, FaultsBecomeStatuses) {
    start();
    for (const auto& [fault, status] : std::vector<std::pair<Fault, int>>{{Fault::spec, 400},
                                                                          {Fault::usage, 400},
                                                                          {Fault::not_found, 404},
                                                                          {Fault::conflict, 409},
                                                                          {Fault::io, 500},
                                                                          {Fault::internal, 500}}) {
        on_loop([&, f = fault] { service_.error = Error{f, "because", "x.yaml:3:1"}; });
        const auto answer = request("POST", "/v1/evaluations", R"({"spec_text":"x","file_name":"f","experiment":{}})",
                                    "Idempotency-Key: k\r\n");
        EXPECT_EQ(answer.status, status);
        const auto error = error_from_json(answer.json());
        EXPECT_EQ(error.fault, fault);
        EXPECT_EQ(error.text(), "x.yaml:3:1: because");
    }
}

TEST_F(ApiTest, EvaluationsAreFoundByUidPrefixAndName) {
    start();
    const auto uid = add_evaluation("my test");
    const auto other = add_evaluation("other");
    set_evaluation(uid, "queued", "freezing");
    const auto list = list_from_json<Evaluation>("evaluations", get("/v1/evaluations").json());
    ASSERT_TRUE(list);
    ASSERT_EQ(list->size(), 2U);
    for (const auto& name : {uid, std::string("my%20test")}) {
        const auto answer = get("/v1/evaluations/" + name);
        ASSERT_EQ(answer.status, 200) << answer.body;
        const auto detail = from_json<EvaluationDetail>(answer.json());
        ASSERT_TRUE(detail);
        EXPECT_EQ(detail->evaluation.uid, uid);
        EXPECT_EQ(detail->evaluation.status, "freezing");
        EXPECT_FALSE(detail->evaluation.ended());
        ASSERT_EQ(detail->arms.size(), 2U);
        EXPECT_EQ(detail->arms[1].against, "base");
        ASSERT_FALSE(detail->transitions.empty());
        EXPECT_EQ(detail->transitions.back().to, "freezing");
        EXPECT_GE(detail->last_seq, detail->transitions.back().seq);
    }
    EXPECT_EQ(from_json<EvaluationDetail>(get("/v1/evaluations/last").json())->evaluation.uid, other);
    EXPECT_EQ(get("/v1/evaluations/nosuch").status, 404);
}

TEST_F(ApiTest, ProgressIsPartOfARunningEvaluation) {
    start();
    const auto uid = add_evaluation("a");
    on_loop([&] {
        ProgressEvent event;
        event.evaluation = uid;
        event.phase = "build";
        event.done = 7;
        service_.present = {event};
    });
    const auto detail = from_json<EvaluationDetail>(get("/v1/evaluations/" + uid).json());
    ASSERT_TRUE(detail);
    ASSERT_TRUE(detail->evaluation.progress);
    EXPECT_EQ(detail->evaluation.progress->done, 7);
    const auto list = list_from_json<Evaluation>("evaluations", get("/v1/evaluations").json());
    ASSERT_TRUE(list);
    ASSERT_TRUE(list->front().progress);
    EXPECT_EQ(list->front().progress->done, 7);
}

TEST_F(ApiTest, EvaluationIsBusyForAsLongAsTheServiceSaysSo) {
    start();
    const auto uid = add_evaluation("a");
    set_evaluation(uid, "queued", "cancelled");
    const auto busy = [&] { return from_json<EvaluationDetail>(get("/v1/evaluations/a").json()).value().busy; };
    EXPECT_FALSE(busy());
    on_loop([&] { service_.busy_with = uid; });
    EXPECT_TRUE(busy());
}

TEST_F(ApiTest, AttemptsThatWereMadeAgainAreRetries) {
    start();
    const auto uid = add_evaluation("a");
    const auto boot = uids_.next(), attempt = uids_.next();
    write([&](store::Writer& writer) -> Status {
        if (auto done = writer.set_host({"local", "local", "qemu", "up", "{}", 1}); !done) return done;
        if (auto done = writer.add_block(uid, 2, 1, 1); !done) return done;
        if (auto done = writer.add_boot(uid, 2, 1, "change", 1, boot, 1); !done) return done;
        if (auto done = writer.set_boot(boot, "pending", "running", "", "", 1); !done) return done;
        if (auto done = writer.add_attempt(boot, attempt, 1, "local", 1); !done) return done;
        store::AttemptEnd end;
        end.outcome = "infra-error";
        end.detail = "no memory";
        if (auto done = writer.finish_attempt(attempt, end, {}, 2); !done) return done;
        return writer.set_boot(boot, "running", "pending", "", "no memory", 2);
    });
    const auto detail = from_json<EvaluationDetail>(get("/v1/evaluations/a").json()).value();
    EXPECT_TRUE(detail.failures.empty());
    ASSERT_EQ(detail.retries.size(), 1U);
    EXPECT_EQ(detail.retries[0].boot, boot);
    EXPECT_EQ(detail.retries[0].arm, "change");
    EXPECT_EQ(detail.retries[0].block, 2);
    EXPECT_EQ(detail.retries[0].detail, "no memory");
    write(
        [&](store::Writer& writer) { return writer.set_boot(boot, "pending", "done", "infra-error", "no memory", 3); });
    const auto given_up = from_json<EvaluationDetail>(get("/v1/evaluations/a").json()).value();
    EXPECT_TRUE(given_up.retries.empty()) << "the last one is a failure";
    EXPECT_EQ(given_up.failures.size(), 1U);
}

TEST_F(ApiTest, CancelResolvesTheNameFirst) {
    start();
    const auto uid = add_evaluation("a");
    EXPECT_EQ(request("POST", "/v1/evaluations/a/cancel").status, 202);
    EXPECT_EQ(service_.cancelled, std::vector<std::string>{uid});
    EXPECT_EQ(request("POST", "/v1/evaluations/b/cancel").status, 404);
    on_loop([&] { service_.error = Error{Fault::conflict, "has ended", uid}; });
    EXPECT_EQ(request("POST", "/v1/evaluations/a/cancel").status, 409);
}

TEST_F(ApiTest, BlobsGoInAndAreFound) {
    start();
    const std::string bytes("\0\r\n\xff patch", 9);
    const auto sha256 = sha256_hex(bytes);
    EXPECT_EQ(request("HEAD", "/v1/blobs/" + sha256).status, 404);
    EXPECT_EQ(request("PUT", "/v1/blobs/" + sha256, bytes).status, 201);
    const auto found = request("HEAD", "/v1/blobs/" + sha256);
    EXPECT_EQ(found.status, 200);
    EXPECT_TRUE(found.body.empty());
    EXPECT_EQ(service_.blobs.at(sha256), bytes);
    EXPECT_EQ(request("PUT", "/v1/blobs/" + std::string(64, 'A'), bytes).status, 400);
    EXPECT_EQ(request("PUT", "/v1/blobs/..%2F..%2Fetc", bytes).status, 400);
    on_loop([&] { service_.error = Error{Fault::usage, "hash differs", {}}; });
    EXPECT_EQ(request("PUT", "/v1/blobs/" + any_sha256, bytes).status, 400);
}

TEST_F(ApiTest, KernelsAndHostsAreListed) {
    start();
    write([](store::Writer& writer) { return writer.set_host({"h1", "local", "qemu", "up", R"({"kvm":"no"})", 5}); });
    const auto hosts = list_from_json<Host>("hosts", get("/v1/hosts").json());
    ASSERT_TRUE(hosts);
    ASSERT_EQ(hosts->size(), 1U);
    EXPECT_EQ(hosts->front().properties.at("kvm"), "no");
    const auto kernels = list_from_json<Kernel>("kernels", get("/v1/kernels").json());
    ASSERT_TRUE(kernels);
    EXPECT_TRUE(kernels->empty());
}

TEST_F(ApiTest, OnlyAnIdlePrivateDaemonShutsDown) {
    auto system = options();
    system.info.is_private = false;
    start(system);
    EXPECT_EQ(request("POST", "/v1/shutdown").status, 409);
    stop();
    io_.restart();
    start();
    on_loop([&] { service_.is_idle = false; });
    EXPECT_EQ(request("POST", "/v1/shutdown").status, 409);
    auto done = shut_down_.get_future();
    EXPECT_EQ(done.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
    on_loop([&] { service_.is_idle = true; });
    EXPECT_EQ(request("POST", "/v1/shutdown").status, 202);
    EXPECT_EQ(done.wait_for(std::chrono::seconds(10)), std::future_status::ready);
}

}  // namespace
}  // namespace kab::api::testing
