#include "protocol/messages.h"

#include <concepts>
#include <limits>

#include "common/json.h"

namespace kab::msg {
namespace {

template <class M, class T>
concept Is = std::same_as<std::remove_const_t<M>, T>;

// ---- one list of fields per message, used to write and to read ----
// a(name, field): required. a.maybe(name, field): left out when it has its default (zero, empty).
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

template <class A, Is<RunOrder> M>
void fields(A& a, M& m) {
    a("seq", m.seq);
    a("workload", m.workload);
    a("point", m.point);
    a("with", m.with);
    a("iteration", m.iteration);
    a.maybe("warmup", m.warmup);
    a.maybe("counters", m.counters);
}

template <class A, Is<AgentPlan> M>
void fields(A& a, M& m) {
    a("runs", m.runs);
    a("drain_limit_ns", m.drain_limit_ns);
    a.maybe("run_limit_ns", m.run_limit_ns);
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

template <class A, Is<RunFinished> M>
void fields(A& a, M& m) {
    a.maybe("attempt", m.attempt);
    a("seq", m.seq);
    a("started_ns", m.started_ns);
    a("samples", m.samples);
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

// In the order of the variant.
constexpr const char* type_names[] = {"hello",       "agent-plan",    "agent-hello",  "run-started",  "run-finished",
                                      "agent-error", "agent-done",    "boot-request", "cancel-boot",  "sample-ack",
                                      "shutdown",    "boot-progress", "boot-hello",   "boot-finished"};
static_assert(std::size(type_names) == std::variant_size_v<Message>);

// ---- writing ----

class Writer {
  public:
    template <class T>
    void operator()(const char* key, const T& value) {
        out_[key] = json_of(value);
    }
    template <class T>
    void maybe(const char* key, const T& value) {
        if (value != T{}) out_[key] = json_of(value);
    }
    template <class T>
    void maybe(const char* key, const std::vector<T>& value) {
        if (!value.empty()) out_[key] = json_of(value);
    }
    Json take() { return std::move(out_); }

  private:
    template <class T>
    static Json json_of(const T& value) {
        if constexpr (std::is_same_v<T, Outcome>) {
            return to_string(value);
        } else if constexpr (requires(Writer w) { fields(w, value); }) {
            Writer inner;
            fields(inner, value);
            return inner.take();
        } else {
            return value;
        }
    }
    template <class T>
    static Json json_of(const std::vector<T>& values) {
        Json array = Json::array();
        for (const T& value : values) array.push_back(json_of(value));
        return array;
    }
    template <class T>
    static Json json_of(const std::optional<T>& value) {
        return value ? Json(*value) : Json();
    }

    Json out_ = Json::object();
};

// ---- reading ----
// The library would turn 1.5 into 1 and true into 1: types are checked here. A `read` returns
// what is wrong, with the path to it, or nothing.

using Problem = std::string;

Problem wrong(const char* expected, const Json& found) {
    return fmt::format(": expected {}, found {}", expected, found.type_name());
}

Problem read(const Json& in, std::string& out) {
    if (!in.is_string()) return wrong("a string", in);
    out = in.get_ref<const std::string&>();
    return {};
}

Problem read(const Json& in, bool& out) {
    if (!in.is_boolean()) return wrong("true or false", in);
    out = in.get<bool>();
    return {};
}

Problem read(const Json& in, std::int64_t& out) {
    if (!in.is_number_integer()) return wrong("an integer", in);
    if (in.is_number_unsigned() &&
        in.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        return ": the integer is too large";
    }
    out = in.get<std::int64_t>();
    return {};
}

Problem read(const Json& in, int& out) {
    std::int64_t wide = 0;
    if (Problem problem = read(in, wide); !problem.empty()) return problem;
    if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max()) {
        return ": the integer is too large";
    }
    out = static_cast<int>(wide);
    return {};
}

Problem read(const Json& in, double& out) {
    if (!in.is_number()) return wrong("a number", in);
    out = in.get<double>();
    return {};
}

Problem read(const Json& in, Outcome& out) {
    std::string text;
    if (Problem problem = read(in, text); !problem.empty()) return problem;
    const auto outcome = parse_outcome(text);
    if (!outcome) return ": " + outcome.error().message;
    out = *outcome;
    return {};
}

template <class T>
Problem read(const Json& in, std::optional<T>& out) {
    return read(in, out.emplace());
}

// Declared before they are used by each other: messages hold lists of messages.
template <class T>
Problem read(const Json& in, std::vector<T>& out);
template <class T>
Problem read(const Json& in, std::map<std::string, T>& out);
template <class T>
requires std::is_class_v<T> Problem read(const Json& in, T& out);

class Reader {
  public:
    explicit Reader(const Json& in) : in_(in) {}
    template <class T>
    void operator()(const char* key, T& value) {
        get(key, value, true);
    }
    template <class T>
    void maybe(const char* key, T& value) {
        get(key, value, false);
    }
    const Problem& problem() const { return problem_; }

  private:
    template <class T>
    void get(const char* key, T& value, bool required) {
        if (!problem_.empty()) return;
        const auto found = in_.find(key);
        if (found == in_.end() || found->is_null()) {
            if (required) problem_ = fmt::format(".{}: is missing", key);
            return;
        }
        if (Problem problem = read(*found, value); !problem.empty()) problem_ = fmt::format(".{}{}", key, problem);
    }

    const Json& in_;
    Problem problem_;
};

template <class T>
Problem read(const Json& in, std::vector<T>& out) {
    if (!in.is_array()) return wrong("a list", in);
    out.resize(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
        if (Problem problem = read(in[i], out[i]); !problem.empty()) return fmt::format("[{}]{}", i, problem);
    }
    return {};
}

template <class T>
Problem read(const Json& in, std::map<std::string, T>& out) {
    if (!in.is_object()) return wrong("an object", in);
    for (const auto& [key, value] : in.items()) {
        if (Problem problem = read(value, out[key]); !problem.empty()) return fmt::format("['{}']{}", key, problem);
    }
    return {};
}

template <class T>
requires std::is_class_v<T> Problem read(const Json& in, T& out) {
    if (!in.is_object()) return wrong("an object", in);
    Reader reader(in);
    fields(reader, out);
    return reader.problem();
}

template <std::size_t I = 0>
Result<Message> decode_as(const std::string& type, const Json& json) {
    if constexpr (I == std::variant_size_v<Message>) {
        return fail(Fault::protocol, "unknown message type '{}'", type.substr(0, 64));
    } else {
        if (type != type_names[I]) return decode_as<I + 1>(type, json);
        std::variant_alternative_t<I, Message> message;
        if (Problem problem = read(json, message); !problem.empty()) {
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
    Json json = std::visit(
        [](const auto& m) {
            Writer writer;
            fields(writer, m);
            return writer.take();
        },
        message);
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
