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

}  // namespace

std::string render_csv(const ReportInput& report) {
    std::string out =
        "evaluation,arm,control,block,position,workload,point,kind,iteration,warmup,metric,unit,better,scale,value,"
        "reason,enabled_ns,running_ns\r\n";
    for (const auto& s : report.samples)
        out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\r\n", report.tree.evaluation.uid,
                           quoted(s.arm), s.control ? 1 : 0, s.block, s.position, quoted(s.workload), quoted(s.point),
                           s.counted ? "counted" : "timed", s.iteration, s.warmup ? 1 : 0, quoted(s.metric),
                           quoted(s.unit), s.better, s.scale, s.value ? fmt::format("{}", *s.value) : "",
                           quoted(s.reason), number(s.enabled_ns), number(s.running_ns));
    return out;
}

}  // namespace kab::report
