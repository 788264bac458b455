#include <cmath>
#include <map>
#include <utility>

#include "daemon/report/profile.h"
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

/// The columns up to `parameters`: whose value it is.
class LeadingColumns {
  public:
    explicit LeadingColumns(const ReportInput& report)
        : boots_(boots_that_count(report)),
          parameters_(parameters_of_points(report)),
          lead_(report.tree.evaluation.uid + "," + quoted(report.tree.evaluation.experiment)) {}

    std::string of(const std::string& arm, bool control, const std::string& role, std::int64_t block,
                   std::int64_t position, const std::string& workload, const std::string& point) const {
        const auto found = boots_.find({block, arm});
        const BootColumns boot = found == boots_.end() ? BootColumns{} : found->second;
        const auto parameters = parameters_.find({workload, point});
        return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},", lead_, quoted(arm), control ? 1 : 0, role,
                           block, boot.repetition, position, boot.boot, boot.attempt, quoted(boot.host), boot.accel,
                           quoted(workload), quoted(point), parameters == parameters_.end() ? "" : parameters->second);
    }

  private:
    std::map<std::pair<std::int64_t, std::string>, BootColumns> boots_;
    std::map<std::pair<std::string, std::string>, std::string> parameters_;
    std::string lead_;
};

/// A row a boot and symbol, "symbol:NAME", or symbol and caller, "symbol:NAME<CALLER".
void add_profiles(const ReportInput& report, const LeadingColumns& leading, std::string& out) {
    std::map<std::pair<std::int64_t, std::string>, std::int64_t> positions;
    for (const auto& boot : report.boots)
        if (boot.block_status == "complete" && boot.outcome == "ok") positions[{boot.block, boot.arm}] = boot.position;
    std::map<std::string, const store::ArmRow*> arms;
    for (const auto& arm : report.tree.arms) arms[arm.name] = &arm;
    for (const auto& profile : profiles(report)) {
        for (const auto& line : profile.lines) {
            const std::string metric = "symbol:" + line.symbol + (line.caller.empty() ? "" : "<" + line.caller);
            for (const auto& [boot, value] : line.boots) {
                const auto& arm = *arms.at(report.input.arms[static_cast<std::size_t>(boot.first)].name);
                out += leading.of(arm.name, arm.control, arm.role, boot.second, positions[{boot.second, arm.name}],
                                  profile.workload, profile.point);
                out += fmt::format(",,0,profiled,{},1,neither,linear,{},,,\n", quoted(metric), value);
            }
        }
    }
}

}  // namespace

std::string render_csv(const ReportInput& report) {
    std::string out =
        "evaluation,experiment,arm,control,role,block,repetition,position,boot,attempt,host,accel,workload,point,"
        "parameters,seq,iteration,warmup,kind,metric,unit,better,scale,value,reason,enabled_ns,running_ns\n";
    const LeadingColumns leading(report);
    for (const auto& s : report.samples) {
        const bool odd = s.value && !std::isfinite(*s.value);
        out += leading.of(s.arm, s.control, s.role, s.block, s.position, s.workload, s.point);
        out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", s.seq, s.iteration, s.warmup ? 1 : 0, s.kind,
                           quoted(s.metric), quoted(s.unit), s.better, s.scale,
                           s.value && !odd ? fmt::format("{}", *s.value) : "",
                           odd ? "not a finite number" : quoted(s.reason), number(s.enabled_ns), number(s.running_ns));
    }
    add_profiles(report, leading, out);
    return out;
}

}  // namespace kab::report
