#include "protocol/messages.h"

#include <gmock/gmock.h>

#include <random>

#include "common/json.h"

namespace kab::msg {
namespace {

using testing::HasSubstr;

RunOrder sample_order() {
    return {3, "ipcns-exit", 2, {{"children", 1000}, {"concurrency", 0}}, 4, true, {"task-clock", "cycles"}};
}

AgentHello sample_agent_hello() {
    AgentHello m;
    m.build = "0.1.0";
    m.release = "6.1.0";
    m.version = "#1 SMP";
    m.command_line = "console=ttyS0 quiet";
    m.cpu_model = "QEMU TCG \"cpu\"";
    m.microcode = "0x1";
    m.cpus = 2;
    m.memory_bytes = 512LL << 20;
    m.clocksource = "tsc";
    m.high_resolution_timers = true;
    m.high_resolution_inactive = true;
    m.governor = "performance";
    m.lock_kind = "queued";
    m.mitigations = {{"meltdown", "Not affected"}};
    m.warnings = {"CONFIG_PROVE_LOCKING is on"};
    return m;
}

/// One of each, every field away from its default.
std::vector<Message> every_message() {
    BootRequest request;
    request.attempt = "01J0000000000000000000000A";
    request.kernel = "/k/vmlinux";
    request.modules = "/k/modules";
    request.command_line = "mitigations=off";
    request.accel = "tcg";
    request.machine = "q35";
    request.cpus = 4;
    request.memory_bytes = 1LL << 40;
    request.boot_limit_ns = 60'000'000'000;
    request.run_limit_ns = 300'000'000'000;
    request.plan = {{sample_order()}, 7, 8};
    request.console_path = "/c/console.log";

    BootFinished finished;
    finished.attempt = "A";
    finished.outcome = Outcome::kernel_crash;
    finished.detail = "panic";
    finished.runs = 5;
    finished.setup_ns = 1;
    finished.hello_ns = 2;
    finished.work_ns = 3;
    finished.teardown_ns = 4;
    finished.console_bytes = 6;
    finished.console = {{"oops", "fatal", "sig", "BUG: unable to handle", 77}};

    return {
        Hello{"kab-host", 1, 3, "0.1.0", {"qemu"}, {{"cpu", "x"}, {"kvm", "no: hangs"}}},
        AgentPlan{{sample_order(), RunOrder{}}, 5'000'000'000, 60'000'000'000},
        sample_agent_hello(),
        RunStarted{9},
        RunFinished{"A",
                    9,
                    std::numeric_limits<std::int64_t>::max(),
                    {{"elapsed", 0.1, "", {}, {}},
                     {"cycles", std::nullopt, "not supported by this machine", {}, {}},
                     {"task-clock", 1e300, "", 5, 4}}},
        AgentError{2, "ipcns-exit: unshare(CLONE_NEWIPC) in child 17: No space left on device"},
        AgentDone{12},
        request,
        CancelBoot{"A"},
        SampleAck{"A", 4},
        Shutdown{},
        BootProgress{"A", "running", 3, 8},
        BootHello{"A", sample_agent_hello(), "tcg", "no vmx flag", "microvm", "QEMU emulator version 7.2.22", "virtio",
                  "yes", "a9", "5e"},
        finished,
    };
}

TEST(Messages, EveryMessageSurvivesARoundTrip) {
    const auto messages = every_message();
    ASSERT_EQ(messages.size(), std::variant_size_v<Message>);
    for (std::size_t i = 0; i < messages.size(); ++i) {
        ASSERT_EQ(messages[i].index(), i) << "one of each, in the order of the variant";
        const std::string text = encode(messages[i]);
        const auto back = decode(text);
        ASSERT_TRUE(back) << text << ": " << back.error().text();
        EXPECT_EQ(back->index(), i);
        EXPECT_EQ(encode(*back), text);
    }
}

TEST(Messages, NoFieldIsForgotten) {
    // Members of each struct in messages.h, and the type.
    const std::size_t keys[] = {7, 4, 18, 2, 5, 3, 2, 13, 2, 3, 1, 5, 11, 11};
    const auto messages = every_message();
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const auto json = parse_json(encode(messages[i]));
        ASSERT_TRUE(json);
        EXPECT_EQ(json->size(), keys[i]) << *json;
    }
    const auto plan = parse_json(encode(messages[1]));
    EXPECT_EQ(plan->at("runs").at(0).size(), 7U);
    const auto run = parse_json(encode(messages[4]));
    EXPECT_EQ(run->at("samples").at(2).size(), 4U);
    const auto finished = parse_json(encode(messages[13]));
    EXPECT_EQ(finished->at("console").at(0).size(), 5U);
}

TEST(Messages, FieldsArriveInTheirPlaces) {
    const auto back = decode(encode(every_message()[7]));
    ASSERT_TRUE(back);
    const auto& request = std::get<BootRequest>(*back);
    EXPECT_EQ(request.memory_bytes, 1LL << 40);
    EXPECT_EQ(request.machine, "q35");
    ASSERT_EQ(request.plan.runs.size(), 1U);
    const RunOrder& order = request.plan.runs[0];
    EXPECT_EQ(order.with.at("children"), 1000);
    EXPECT_TRUE(order.warmup);
    EXPECT_THAT(order.counters, testing::ElementsAre("task-clock", "cycles"));
    EXPECT_EQ(request.plan.drain_limit_ns, 7);
}

TEST(Messages, AbsentValuesStayAbsentAndDoublesAreExact) {
    const auto back = decode(encode(every_message()[4]));
    ASSERT_TRUE(back);
    const auto& run = std::get<RunFinished>(*back);
    ASSERT_EQ(run.samples.size(), 3U);
    EXPECT_EQ(run.started_ns, std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(run.samples[0].value, 0.1);
    EXPECT_FALSE(run.samples[1].value);
    EXPECT_EQ(run.samples[1].reason, "not supported by this machine");
    EXPECT_EQ(run.samples[2].value, 1e300);
    EXPECT_EQ(run.samples[2].running_ns, 4);
}

TEST(Messages, AZeroValueIsSentAndNotTakenForAbsent) {
    const auto back = decode(encode(RunFinished{"", 1, 0, {{"backlog", 0.0, "", 0, 0}}}));
    ASSERT_TRUE(back);
    const Sample& sample = std::get<RunFinished>(*back).samples.at(0);
    EXPECT_EQ(sample.value, 0.0);
    EXPECT_EQ(sample.enabled_ns, 0);
}

TEST(Messages, BytesThatAreNotUtf8AreReplaced) {
    const auto back = decode(encode(AgentError{0, "bad \xff byte"}));
    ASSERT_TRUE(back);
    EXPECT_THAT(std::get<AgentError>(*back).message, HasSubstr("\xEF\xBF\xBD"));
}

TEST(Messages, UnknownFieldsAreIgnored) {
    const auto back = decode(R"({"type":"sample-ack","attempt":"A","seq":4,"later":{"x":[1]}})");
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(std::get<SampleAck>(*back).seq, 4);
}

TEST(Messages, AnotherMajorCanStillBeReadToBeRefused) {
    const auto back = decode(R"({"type":"hello","role":"kabd","major":9,"minor":0,"builds":{}})");
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(std::get<Hello>(*back).major, 9);
}

TEST(Messages, WrongOnesAreRefusedNamingTheField) {
    const struct {
        const char* json;
        const char* says;
    } cases[] = {
        {"", ""},
        {"[1]", "must be an object"},
        {"{}", "without a 'type'"},
        {R"({"type":1})", "without a 'type'"},
        {R"({"type":"reboot"})", "unknown message type 'reboot'"},
        {R"({"type":"sample-ack","attempt":"A"})", "sample-ack.seq: is missing"},
        {R"({"type":"sample-ack","attempt":"A","seq":null})", "sample-ack.seq: is missing"},
        {R"({"type":"sample-ack","attempt":"A","seq":1.5})", "sample-ack.seq: expected an integer"},
        {R"({"type":"sample-ack","attempt":"A","seq":true})", "expected an integer"},
        {R"({"type":"sample-ack","attempt":"A","seq":18446744073709551615})", "too large"},
        {R"({"type":"hello","role":"kabd","major":4294967297,"minor":0})", "hello.major: the integer is too large"},
        {R"({"type":"sample-ack","attempt":7,"seq":1})", "sample-ack.attempt: expected a string"},
        {R"({"type":"agent-plan","drain_limit_ns":0,"runs":[{"seq":1}]})", "agent-plan.runs[0].workload: is missing"},
        {R"({"type":"agent-plan","drain_limit_ns":0,"runs":{}})", "agent-plan.runs: expected a list"},
        {R"({"type":"run-finished","seq":1,"started_ns":0,"samples":[{"metric":"m","value":"fast"}]})",
         "run-finished.samples[0].value: expected a number"},
        {R"({"type":"sample-ack","attempt":"A","seq":1,"seq":2})", "seq"},
        {R"({"type":"shutdown"} x)", ""},
    };
    for (const auto& c : cases) {
        const auto back = decode(c.json);
        ASSERT_FALSE(back) << c.json;
        EXPECT_EQ(back.error().fault, Fault::protocol) << c.json;
        EXPECT_THAT(back.error().message, HasSubstr(c.says)) << c.json;
    }
    EXPECT_FALSE(decode(std::string(100000, '[')));
}

TEST(Messages, OutcomesHaveNames) {
    for (const Outcome outcome : {Outcome::ok, Outcome::boot_failure, Outcome::kernel_crash, Outcome::hang,
                                  Outcome::workload_error, Outcome::infra_error, Outcome::cancelled}) {
        EXPECT_EQ(parse_outcome(to_string(outcome)), outcome);
    }
    EXPECT_STREQ(to_string(Outcome::boot_failure), "boot-failure");
    EXPECT_FALSE(parse_outcome("fine"));
    EXPECT_FALSE(decode(R"({"type":"boot-finished","attempt":"A","outcome":"fine"})"));
}

TEST(Messages, DamagedMessagesAreRefusedOrReadButNeverCrash) {
    std::mt19937 random(7);  // NOLINT: a fixed seed on purpose
    const auto messages = every_message();
    int refused = 0;
    for (int round = 0; round < 5000; ++round) {
        std::string text = encode(messages[random() % messages.size()]);
        for (unsigned changes = 1 + random() % 4; changes > 0 && !text.empty(); --changes) {
            const std::size_t at = random() % text.size();
            switch (random() % 3) {
                case 0: text[at] = static_cast<char>(random() % 256); break;
                case 1: text.erase(at, 1 + random() % 5); break;
                default: text.insert(at, 1, static_cast<char>("{}[]\",:0-eE."[random() % 12])); break;
            }
        }
        const auto back = decode(text);
        if (!back) {
            ++refused;
            EXPECT_EQ(back.error().fault, Fault::protocol);
        } else {
            EXPECT_TRUE(decode(encode(*back))) << "what was read can be written and read again: " << text;
        }
    }
    EXPECT_GT(refused, 1000);
}

TEST(Messages, RandomBytesAreRefused) {
    std::mt19937 random(11);  // NOLINT: a fixed seed on purpose
    for (int round = 0; round < 3000; ++round) {
        std::string text(random() % 100, '\0');
        for (char& byte : text) byte = static_cast<char>(random() % 256);
        EXPECT_FALSE(decode(text));
    }
}

}  // namespace
}  // namespace kab::msg
