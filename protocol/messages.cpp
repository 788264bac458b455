#include "protocol/messages.h"

#include "protocol/archive.h"

namespace kab::msg {

using archive::Is;

static const char* archive_text(Outcome outcome) {
    return to_string(outcome);
}
static archive::Problem archive_parse(const std::string& text, Outcome& out) {
    const auto outcome = parse_outcome(text);
    if (!outcome) return ": " + outcome.error().message;
    out = *outcome;
    return {};
}

// ---- one list of fields per message (protocol/archive.h) ----
// A field added in a later minor version must be a `maybe`: older peers do not send it.

template <class A, Is<Hello> M>
void fields(A& a, M& m) {
    // Only what tells another major version is required, so that it can be named when it is refused.
    a("role", m.role);
    a("major", m.major);
    a("minor", m.minor);
    a.maybe("build", m.build);
    a.maybe("capabilities", m.capabilities);
    a.maybe("properties", m.properties);
}

template <class A, Is<ProfileGroup> M>
void fields(A& a, M& m) {
    a("name", m.name);
    a("symbols", m.symbols);
    a.maybe("callers", m.callers);
    a.maybe("of_kernel", m.of_kernel);
}

template <class A, Is<ProfileOrder> M>
void fields(A& a, M& m) {
    a.maybe("frequency_hz", m.frequency_hz);
    a.maybe("groups", m.groups);
}

template <class A, Is<RunOrder> M>
void fields(A& a, M& m) {
    a("seq", m.seq);
    a("workload", m.workload);
    a("point", m.point);
    a("with", m.with);
    a("iteration", m.iteration);
    a.maybe("warmup", m.warmup);
    a.maybe("counters", m.counters);
    a.maybe("profile", m.profile);
    a.maybe("check", m.check);
}

template <class A, Is<AgentPlan> M>
void fields(A& a, M& m) {
    a("runs", m.runs);
    a("drain_limit_ns", m.drain_limit_ns);
    a.maybe("run_limit_ns", m.run_limit_ns);
    a.maybe("exact", m.exact);
    a.maybe("timer_phase_ns", m.timer_phase_ns);
    a.maybe("layout_pages", m.layout_pages);
}

template <class A, Is<AgentHello> M>
void fields(A& a, M& m) {
    a("major", m.major);
    a("minor", m.minor);
    a.maybe("build", m.build);
    a.maybe("release", m.release);
    a.maybe("version", m.version);
    a.maybe("command_line", m.command_line);
    a.maybe("cpu_model", m.cpu_model);
    a.maybe("microcode", m.microcode);
    a.maybe("cpus", m.cpus);
    a.maybe("memory_bytes", m.memory_bytes);
    a.maybe("clocksource", m.clocksource);
    a.maybe("high_resolution_timers", m.high_resolution_timers);
    a.maybe("high_resolution_inactive", m.high_resolution_inactive);
    a.maybe("governor", m.governor);
    a.maybe("lock_kind", m.lock_kind);
    a.maybe("mitigations", m.mitigations);
    a.maybe("warnings", m.warnings);
}

template <class A, Is<RunStarted> M>
void fields(A& a, M& m) {
    a("seq", m.seq);
}

template <class A, Is<Sample> M>
void fields(A& a, M& m) {
    a("metric", m.metric);
    a.maybe("value", m.value);
    a.maybe("reason", m.reason);
    a.maybe("enabled_ns", m.enabled_ns);
    a.maybe("running_ns", m.running_ns);
}

template <class A, Is<ProfileSymbol> M>
void fields(A& a, M& m) {
    a("symbol", m.symbol);
    a.maybe("caller", m.caller);
    a("samples", m.samples);
}

template <class A, Is<RunFinished> M>
void fields(A& a, M& m) {
    a.maybe("attempt", m.attempt);
    a("seq", m.seq);
    a("started_ns", m.started_ns);
    a("samples", m.samples);
    a.maybe("conditions", m.conditions);
    a.maybe("profile", m.profile);
}

template <class A, Is<AgentError> M>
void fields(A& a, M& m) {
    a("seq", m.seq);
    a("message", m.message);
}

template <class A, Is<AgentDone> M>
void fields(A& a, M& m) {
    a("runs", m.runs);
}

template <class A, Is<BootRequest> M>
void fields(A& a, M& m) {
    a("attempt", m.attempt);
    a("kernel", m.kernel);
    a.maybe("modules", m.modules);
    a.maybe("command_line", m.command_line);
    a("accel", m.accel);
    a("machine", m.machine);
    a("cpus", m.cpus);
    a("memory_bytes", m.memory_bytes);
    a.maybe("exact", m.exact);
    a("boot_limit_ns", m.boot_limit_ns);
    a("run_limit_ns", m.run_limit_ns);
    a("plan", m.plan);
    a.maybe("console_path", m.console_path);
}

template <class A, Is<CancelBoot> M>
void fields(A& a, M& m) {
    a("attempt", m.attempt);
}

template <class A, Is<SampleAck> M>
void fields(A& a, M& m) {
    a("attempt", m.attempt);
    a("seq", m.seq);
}

template <class A, Is<Shutdown> M>
void fields(A&, M&) {}

template <class A, Is<BootProgress> M>
void fields(A& a, M& m) {
    a("attempt", m.attempt);
    a("phase", m.phase);
    a("done", m.done);
    a("total", m.total);
}

template <class A, Is<BootHello> M>
void fields(A& a, M& m) {
    a("attempt", m.attempt);
    a("agent", m.agent);
    a("accel", m.accel);
    a.maybe("accel_reason", m.accel_reason);
    a("machine", m.machine);
    a.maybe("emulator", m.emulator);
    a.maybe("channel", m.channel);
    a.maybe("pinning", m.pinning);
    a.maybe("agent_sha256", m.agent_sha256);
    a.maybe("shell_sha256", m.shell_sha256);
}

template <class A, Is<ConsoleEvent> M>
void fields(A& a, M& m) {
    a("kind", m.kind);
    a("severity", m.severity);
    a("signature", m.signature);
    a("text", m.text);
    a("line", m.line);
}

template <class A, Is<BootFinished> M>
void fields(A& a, M& m) {
    a("attempt", m.attempt);
    a("outcome", m.outcome);
    a.maybe("detail", m.detail);
    a("runs", m.runs);
    a("setup_ns", m.setup_ns);
    a("hello_ns", m.hello_ns);
    a("work_ns", m.work_ns);
    a("teardown_ns", m.teardown_ns);
    a.maybe("false_starts", m.false_starts);
    a("console_bytes", m.console_bytes);
    a.maybe("console", m.console);
}

namespace {

// In the order of the variant.
constexpr const char* type_names[] = {"hello",       "agent-plan",    "agent-hello",  "run-started",  "run-finished",
                                      "agent-error", "agent-done",    "boot-request", "cancel-boot",  "sample-ack",
                                      "shutdown",    "boot-progress", "boot-hello",   "boot-finished"};
static_assert(std::size(type_names) == std::variant_size_v<Message>);

template <std::size_t I = 0>
Result<Message> decode_as(const std::string& type, const Json& json) {
    if constexpr (I == std::variant_size_v<Message>) {
        return fail(Fault::protocol, "unknown message type '{}'", type.substr(0, 64));
    } else {
        if (type != type_names[I]) return decode_as<I + 1>(type, json);
        std::variant_alternative_t<I, Message> message;
        if (const auto problem = archive::read(json, message); !problem.empty()) {
            return fail(Fault::protocol, "{}{}", type, problem);
        }
        return Message(std::move(message));
    }
}

constexpr std::pair<Outcome, const char*> outcome_names[] = {
    {Outcome::ok, "ok"},
    {Outcome::boot_failure, "boot-failure"},
    {Outcome::kernel_crash, "kernel-crash"},
    {Outcome::hang, "hang"},
    {Outcome::workload_error, "workload-error"},
    {Outcome::infra_error, "infra-error"},
    {Outcome::cancelled, "cancelled"},
};

}  // namespace

const char* to_string(Outcome outcome) {
    for (const auto& [value, name] : outcome_names) {
        if (value == outcome) return name;
    }
    return "infra-error";  // not reached: every outcome has a name
}

Result<Outcome> parse_outcome(const std::string& text) {
    for (const auto& [value, name] : outcome_names) {
        if (text == name) return value;
    }
    return fail(Fault::protocol, "unknown outcome '{}'", text.substr(0, 64));
}

std::string encode(const Message& message) {
    Json json = std::visit([](const auto& m) { return archive::write<archive::Defaults::left_out>(m); }, message);
    json["type"] = type_names[message.index()];
    return dump_json(json);
}

Result<Message> decode(std::string_view text) {
    const auto json = parse_json(text);
    if (!json) return pass(json);
    if (!json->is_object()) return fail(Fault::protocol, "a message must be an object, found {}", json->type_name());
    const auto type = json->find("type");
    if (type == json->end() || !type->is_string()) return fail(Fault::protocol, "a message without a 'type'");
    return decode_as(type->get_ref<const std::string&>(), *json);
}

}  // namespace kab::msg
