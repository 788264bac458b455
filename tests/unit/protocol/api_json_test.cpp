#include <gtest/gtest.h>

#include "protocol/api/json.h"
#include "protocol/api/socket_address.h"
#include "protocol/api/text.h"

namespace kab::api {
namespace {

Json parse(const std::string& text) {
    return parse_json(text).value();
}

TEST(ApiJson, DetailSurvivesTheRoundTrip) {
    EvaluationDetail detail;
    detail.evaluation = {"U", "e", "q?", "running", "d",          "",
                         "",  2,   10,   11,        std::nullopt, Progress{"U", "boot", "a", "running"}};
    detail.arms = {{"a'\"\n", "b", "ready", "", true, "key", "6.1", "sig", 3, 1}};
    detail.blocks = {{4, 2, "excluded", "interrupted", 3, 2}};
    detail.failures = {{"B", 4, "a", "hang", "no hello", "x/console"}};
    detail.transitions = {{7, 8, "U", "arm", "a", "pending", "ready", ""}};
    detail.last_seq = 9;
    const auto json = to_json(detail);
    EXPECT_FALSE(json.at("evaluation").contains("finished_at")) << "a time that has not come is left out";
    const auto back = from_json<EvaluationDetail>(parse(dump_json(json)));
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(to_json(*back), json);
    EXPECT_EQ(back->arms[0].name, "a'\"\n");
    EXPECT_EQ(back->evaluation.started_at, 11);
    EXPECT_FALSE(back->evaluation.ended());
    EXPECT_EQ(back->failures[0].console_path, "x/console");
}

TEST(ApiJson, ReadersIgnoreWhatTheyDoNotKnow) {
    const auto version = from_json<Version>(parse(R"({"version":"9","api":1,"colour":"blue"})"));
    ASSERT_TRUE(version);
    EXPECT_EQ(version->version, "9");
    EXPECT_EQ(version->pid, 0);
    const auto null_time = from_json<Evaluation>(parse(R"({"uid":"U","started_at":null})"));
    ASSERT_TRUE(null_time);
    EXPECT_FALSE(null_time->started_at);
}

TEST(ApiJson, MissingAndWrongFieldsAreNamed) {
    for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
             {R"({"api":1})", "unexpected JSON.version: is missing"},
             {R"({"version":1,"api":1})", "unexpected JSON.version: expected a string, found number"},
             {R"({"version":"1","api":1.5})", "unexpected JSON.api: expected an integer, found number"},
             {R"({"version":"1","api":true})", "unexpected JSON"},
             {R"([])", "unexpected JSON"},
             {R"("x")", "unexpected JSON"},
         }) {
        const auto version = from_json<Version>(parse(text));
        ASSERT_FALSE(version) << text;
        EXPECT_NE(version.error().message.find(message), std::string::npos) << text << version.error().message;
    }
}

TEST(ApiJson, EventsAreToldApartByType) {
    const auto transition = event_from_json(to_json(Transition{5, 6, "U", "boot", "b", "x", "y", "z"}));
    ASSERT_TRUE(transition && *transition);
    EXPECT_EQ(std::get<Transition>(**transition).seq, 5);
    const auto progress = event_from_json(to_json(Progress{"U", "build", "", ""}));
    ASSERT_TRUE(progress && *progress);
    EXPECT_EQ(std::get<Progress>(**progress).phase, "build");
    const auto later = event_from_json(parse(R"({"type":"mood"})"));
    ASSERT_TRUE(later);
    EXPECT_FALSE(*later);
    EXPECT_FALSE(event_from_json(parse(R"({"type":"transition"})"))) << "no seq";
    EXPECT_FALSE(event_from_json(parse("[]")));
}

TEST(ApiJson, ErrorsKeepTheirFaultAndPlace) {
    for (const auto fault : {Fault::usage, Fault::spec, Fault::not_found, Fault::conflict, Fault::io, Fault::build,
                             Fault::infra, Fault::protocol, Fault::cancelled, Fault::timeout, Fault::internal}) {
        const auto back = error_from_json(error_to_json({fault, "what", "where"}));
        EXPECT_EQ(back.fault, fault);
        EXPECT_EQ(back.text(), "where: what");
        EXPECT_GE(http_status(fault), 400);
    }
    EXPECT_EQ(error_from_json(parse(R"({"code":"new-code","message":"m"})")).fault, Fault::internal);
    EXPECT_EQ(error_from_json(parse("[1]")).fault, Fault::protocol);
}

TEST(ApiText, PercentEncodingGoesThereAndBack) {
    const std::string odd = "a b/ü%?&=~_.-\n";
    const auto encoded = percent_encode(odd);
    EXPECT_EQ(encoded, "a%20b%2F%C3%BC%25%3F%26%3D~_.-%0A");
    EXPECT_EQ(percent_decode(encoded).value(), odd);
    for (const auto* wrong : {"%", "%2", "%zz", "a%G0"}) EXPECT_FALSE(percent_decode(wrong)) << wrong;
}

TEST(ApiText, DigestsAreLowerCaseHex) {
    EXPECT_TRUE(is_sha256(std::string(64, 'a')));
    EXPECT_FALSE(is_sha256(std::string(64, 'A')));
    EXPECT_FALSE(is_sha256(std::string(63, 'a')));
    EXPECT_FALSE(is_sha256(std::string(63, 'a') + "/"));
}

TEST(SocketAddressTest, LongPathsGoThroughTheirDirectory) {
    EXPECT_EQ(SocketAddress::of("/run/kabd.sock").value().text(), "/run/kabd.sock");
    const auto made = TempDir::make("kab-address-");
    ASSERT_TRUE(made);
    const auto deep = made->path() / std::string(120, 'd');
    ASSERT_TRUE(make_directories(deep));
    const auto address = SocketAddress::of(deep / "kabd.sock");
    ASSERT_TRUE(address);
    EXPECT_LT(address->text().size(), 108U);
    EXPECT_EQ(fs::weakly_canonical(fs::path(address->text()).parent_path()), fs::canonical(deep));
    EXPECT_FALSE(SocketAddress::of(made->path() / std::string(120, 'x') / "kabd.sock")) << "no such directory";
}

}  // namespace
}  // namespace kab::api
