#include <cmath>
#include <map>
#include <utility>

#include "daemon/report/report.h"

namespace kab::report {
namespace {

std::string quoted(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"') result += '"';
        result += c;
    }
    return result + "\"";
}

std::string number(const std::optional<std::int64_t>& value) {
    return value ? std::to_string(*value) : "";
}

/// What a row of v_sample has of its boot: the same for all samples of an arm in a block.
struct BootColumns {
    std::string repetition, boot, attempt, host, accel;
};

std::map<std::pair<std::int64_t, std::string>, BootColumns> boots_that_count(const ReportInput& report) {
    std::map<std::int64_t, std::string> uids;
    for (const auto& attempt : report.tree.attempts) uids[attempt.id] = attempt.uid;
    std::map<std::string, std::string> attempts;  // boot -> accepted attempt
    for (const auto& boot : report.tree.boots)
        if (boot.accepted_attempt_id) attempts[boot.uid] = uids[*boot.accepted_attempt_id];
    std::map<std::pair<std::int64_t, std::string>, BootColumns> boots;
    for (const auto& boot : report.boots)
        if (boot.block_status == "complete" && boot.outcome == "ok")
            boots[{boot.block, boot.arm}] = {std::to_string(boot.repetition), boot.uid, attempts[boot.uid], boot.host,
                                             boot.accel};
    return boots;
}

std::map<std::pair<std::string, std::string>, std::string> parameters_of_points(const ReportInput& report) {
    std::map<std::pair<std::string, std::string>, std::string> parameters;
    for (const auto& point : report.tree.points) parameters[{point.workload, point.label}] = quoted(point.parameters);
    return parameters;
}

}  // namespace

std::string render_csv(const ReportInput& report) {
    std::string out =
        "evaluation,experiment,arm,control,block,repetition,position,boot,attempt,host,accel,workload,point,"
        "parameters,seq,iteration,warmup,kind,metric,unit,better,scale,value,reason,enabled_ns,running_ns\n";
    const auto boots = boots_that_count(report);
    const auto parameters = parameters_of_points(report);
    const std::string lead = report.tree.evaluation.uid + "," + quoted(report.tree.evaluation.experiment);
    for (const auto& s : report.samples) {
        const bool odd = s.value && !std::isfinite(*s.value);
        const auto found = boots.find({s.block, s.arm});
        const BootColumns boot = found == boots.end() ? BootColumns{} : found->second;
        const auto point = parameters.find({s.workload, s.point});
        out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},", lead, quoted(s.arm), s.control ? 1 : 0, s.block,
                           boot.repetition, s.position, boot.boot, boot.attempt, quoted(boot.host), boot.accel,
                           quoted(s.workload), quoted(s.point), point == parameters.end() ? "" : point->second);
        out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", s.seq, s.iteration, s.warmup ? 1 : 0,
                           s.counted ? "counted" : "timed", quoted(s.metric), quoted(s.unit), s.better, s.scale,
                           s.value && !odd ? fmt::format("{}", *s.value) : "",
                           odd ? "not a finite number" : quoted(s.reason), number(s.enabled_ns), number(s.running_ns));
    }
    return out;
}

}  // namespace kab::report
