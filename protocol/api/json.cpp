#include "protocol/api/json.h"

#include <array>

#include "protocol/archive.h"

namespace kab::api {

using archive::Is;

// One list of fields per type (protocol/archive.h); all are written, but for absent optionals.

template <class A, Is<Version> M>
void fields(A& a, M& m) {
    a("version", m.version);
    a("api", m.api);
    a.maybe("protocol", m.protocol);
    a.maybe("pid", m.pid);
    a.maybe("state_dir", m.state_dir);
    a.maybe("private", m.is_private);
    a.maybe("idle", m.idle);
}

template <class A, Is<Input> M>
void fields(A& a, M& m) {
    a("path", m.path);
    a("sha256", m.sha256);
}

template <class A, Is<Submit> M>
void fields(A& a, M& m) {
    a("spec_text", m.spec_text);
    a("file_name", m.file_name);
    a("experiment", m.experiment);
    a.maybe("inputs", m.inputs);
}

template <class A, Is<Submitted> M>
void fields(A& a, M& m) {
    a("uid", m.uid);
}

template <class A, Is<Progress> M>
void fields(A& a, M& m) {
    a.maybe("evaluation", m.evaluation);
    a.maybe("phase", m.phase);
    a.maybe("arm", m.arm);
    a.maybe("step", m.step);
    a.maybe("done", m.done);
    a.maybe("total", m.total);
    a.maybe("block", m.block);
    a.maybe("blocks", m.blocks);
    a.maybe("boot", m.boot);
    a.maybe("boots", m.boots);
    a.maybe("left_ns", m.left_ns);
}

template <class A, Is<Transition> M>
void fields(A& a, M& m) {
    a("seq", m.seq);
    a.maybe("at", m.at);
    a.maybe("evaluation", m.evaluation);
    a.maybe("object", m.object);
    a.maybe("name", m.name);
    a.maybe("from", m.from);
    a.maybe("to", m.to);
    a.maybe("detail", m.detail);
}

template <class A, Is<Evaluation> M>
void fields(A& a, M& m) {
    a("uid", m.uid);
    a.maybe("experiment", m.experiment);
    a.maybe("question", m.question);
    a.maybe("status", m.status);
    a.maybe("detail", m.detail);
    a.maybe("fault", m.fault);
    a.maybe("verdict", m.verdict);
    a.maybe("looks_done", m.looks_done);
    a.maybe("created_at", m.created_at);
    a.maybe("started_at", m.started_at);
    a.maybe("finished_at", m.finished_at);
    a.maybe("progress", m.progress);
}

template <class A, Is<Arm> M>
void fields(A& a, M& m) {
    a.maybe("name", m.name);
    a.maybe("against", m.against);
    a.maybe("status", m.status);
    a.maybe("detail", m.detail);
    a.maybe("control", m.control);
    a.maybe("kernel_key", m.kernel_key);
    a.maybe("kernel_release", m.kernel_release);
    a.maybe("code_signature", m.code_signature);
    a.maybe("boots_ok", m.boots_ok);
    a.maybe("boots_failed", m.boots_failed);
}

template <class A, Is<Block> M>
void fields(A& a, M& m) {
    a.maybe("number", m.number);
    a.maybe("repetition", m.repetition);
    a.maybe("status", m.status);
    a.maybe("detail", m.detail);
    a.maybe("boots", m.boots);
    a.maybe("boots_done", m.boots_done);
}

template <class A, Is<Failure> M>
void fields(A& a, M& m) {
    a.maybe("boot", m.boot);
    a.maybe("block", m.block);
    a.maybe("arm", m.arm);
    a.maybe("outcome", m.outcome);
    a.maybe("detail", m.detail);
    a.maybe("console_path", m.console_path);
}

template <class A, Is<EvaluationDetail> M>
void fields(A& a, M& m) {
    a("evaluation", m.evaluation);
    a.maybe("arms", m.arms);
    a.maybe("blocks", m.blocks);
    a.maybe("failures", m.failures);
    a.maybe("retries", m.retries);
    a.maybe("blocks_done", m.blocks_done);
    a.maybe("transitions", m.transitions);
    a.maybe("busy", m.busy);
    a.maybe("last_seq", m.last_seq);
}

template <class A, Is<Kernel> M>
void fields(A& a, M& m) {
    a("key", m.key);
    a.maybe("origin", m.origin);
    a.maybe("release", m.release);
    a.maybe("base_commit", m.base_commit);
    a.maybe("code_signature", m.code_signature);
    a.maybe("format", m.format);
    a.maybe("path", m.path);
    a.maybe("compiler", m.compiler);
    a.maybe("wall_ns", m.wall_ns);
    a.maybe("cpu_ns", m.cpu_ns);
    a.maybe("objects", m.objects);
    a.maybe("built_at", m.built_at);
}

template <class A, Is<Host> M>
void fields(A& a, M& m) {
    a("name", m.name);
    a.maybe("uid", m.uid);
    a.maybe("kind", m.kind);
    a.maybe("status", m.status);
    a.maybe("properties", m.properties);
    a.maybe("last_seen_at", m.last_seen_at);
}

namespace {

template <class T>
Json write(const T& value) {
    return archive::write<archive::Defaults::written>(value);
}

constexpr std::array all_faults{Fault::usage,     Fault::spec,    Fault::not_found, Fault::conflict,
                                Fault::io,        Fault::build,   Fault::infra,     Fault::protocol,
                                Fault::cancelled, Fault::timeout, Fault::internal};

}  // namespace

Json to_json(const Version& value) {
    return write(value);
}
Json to_json(const Submit& value) {
    return write(value);
}
Json to_json(const Submitted& value) {
    return write(value);
}
Json to_json(const Evaluation& value) {
    return write(value);
}
Json to_json(const EvaluationDetail& value) {
    return write(value);
}
Json to_json(const Kernel& value) {
    return write(value);
}
Json to_json(const Host& value) {
    return write(value);
}
Json to_json(const Transition& value) {
    Json json = write(value);
    json["type"] = "transition";
    return json;
}
Json to_json(const Progress& value) {
    Json json = write(value);
    json["type"] = "progress";
    return json;
}

template <class T>
Result<T> from_json(const Json& json) {
    T value;
    if (const auto problem = archive::read(json, value); !problem.empty())
        return fail(Fault::protocol, "unexpected JSON{}", problem);
    return value;
}
template Result<Version> from_json(const Json&);
template Result<Submit> from_json(const Json&);
template Result<Submitted> from_json(const Json&);
template Result<Evaluation> from_json(const Json&);
template Result<EvaluationDetail> from_json(const Json&);
template Result<Kernel> from_json(const Json&);
template Result<Host> from_json(const Json&);
template Result<Transition> from_json(const Json&);
template Result<Progress> from_json(const Json&);

Result<std::optional<Event>> event_from_json(const Json& json) {
    auto type = json_get<std::string>(json, "type");
    if (!type) return pass(type);
    if (*type == "transition") {
        auto transition = from_json<Transition>(json);
        if (!transition) return pass(transition);
        return Event(std::move(*transition));
    }
    if (*type == "progress") {
        auto progress = from_json<Progress>(json);
        if (!progress) return pass(progress);
        return Event(std::move(*progress));
    }
    return std::optional<Event>();
}

Json error_to_json(const Error& error) {
    return {{"code", to_string(error.fault)}, {"message", error.message}, {"where", error.where}};
}

Error error_from_json(const Json& json) {
    Error error{Fault::protocol, "an answer that is no error body", {}};
    const auto message = json_get<std::string>(json, "message");
    const auto code = json_get<std::string>(json, "code");
    if (!message || !code) return error;
    error.message = *message;
    error.where = json_get_or<std::string>(json, "where", "").value_or("");
    error.fault = Fault::internal;  // also what a newer daemon's code becomes
    for (const auto fault : all_faults)
        if (*code == to_string(fault)) error.fault = fault;
    return error;
}

int http_status(Fault fault) {
    switch (fault) {
        case Fault::usage:
        case Fault::spec:
        case Fault::protocol: return 400;
        case Fault::not_found: return 404;
        case Fault::conflict:
        case Fault::cancelled: return 409;
        case Fault::timeout: return 504;
        case Fault::io:
        case Fault::build:
        case Fault::infra:
        case Fault::internal: return 500;
    }
    return 500;
}

}  // namespace kab::api
