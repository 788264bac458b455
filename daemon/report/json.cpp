#include <cmath>
#include <map>
#include <set>

#include "common/score.h"
#include "daemon/report/checks.h"
#include "daemon/report/compose.h"
#include "daemon/report/conditions.h"
#include "daemon/report/faults.h"
#include "daemon/report/gather.h"
#include "daemon/report/profile.h"
#include "daemon/report/report.h"

namespace kab::report {
namespace {

template <class T>
Json optional(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

/// NaN and infinity have no JSON.
Json finite(double value) {
    return std::isfinite(value) ? Json(value) : Json(nullptr);
}
Json finite(const std::optional<double>& value) {
    return value ? finite(*value) : Json(nullptr);
}

Json parsed(const std::string& text) {
    auto json = parse_json(text.empty() ? "null" : text);
    return json ? std::move(*json) : Json(nullptr);
}

Json arms(const ReportInput& report) {
    Json list = Json::array();
    for (std::size_t i = 0; i < report.tree.arms.size(); ++i) {
        const auto& arm = report.tree.arms[i];
        const auto& kernel = report.kernels[i];
        Json json{{"name", arm.name},
                  {"against", arm.against.empty() ? Json(nullptr) : Json(arm.against)},
                  {"control", arm.control},
                  {"role", arm.role},
                  {"status", arm.status},
                  {"detail", arm.detail},
                  {"boots", report.input.arms[i].boots},
                  {"failed", report.input.arms[i].failed},
                  {"kernel", nullptr}};
        if (!kernel.key.empty())
            json["kernel"] = {{"key", kernel.key},
                              {"origin", kernel.origin},
                              {"base_commit", kernel.base_commit},
                              {"release", kernel.release},
                              {"config_hash", kernel.config_hash},
                              {"compiler", kernel.compiler},
                              {"patches", parsed(kernel.patches)},
                              {"image_hash", kernel.image_hash},
                              {"code_signature", kernel.code_signature}};
        list.push_back(std::move(json));
    }
    return list;
}

/// Named as the columns of v_comparison; the evaluation and its experiment are told once, above.
Json comparisons(const ReportInput& report) {
    Json list = Json::array();
    const auto rows = to_comparison_rows(report.input, report.output, report.look);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto& row = rows[i];
        const auto& comparison = report.output.comparisons[i];
        const auto& series = series_of(report, comparison);
        list.push_back({{"look", report.look < 0 ? Json(nullptr) : Json(row.look)},
                        {"arm", row.arm},
                        {"control", comparison.control},
                        {"role", report.tree.arms[static_cast<std::size_t>(comparison.arm)].role},
                        {"against", row.against},
                        {"workload", row.workload},
                        {"point", row.point},
                        {"metric", row.metric},
                        {"unit", series.unit},
                        {"better", to_string(series.better)},
                        {"scale", to_string(series.scale)},
                        {"is_primary", row.primary},
                        {"n", row.n},
                        {"estimate", finite(row.estimate)},
                        {"low", finite(row.low)},
                        {"high", finite(row.high)},
                        {"level", finite(row.level)},
                        {"sd", finite(row.sd)},
                        {"t", finite(row.t)},
                        {"df", finite(row.df)},
                        {"p", finite(row.p)},
                        {"p_sequential", finite(row.p_sequential)},
                        {"p_adjusted", finite(row.p_adjusted)},
                        {"p_rank", finite(row.p_rank)},
                        {"rank_estimate", finite(row.rank_estimate)},
                        {"rank_low", finite(row.rank_low)},
                        {"rank_high", finite(row.rank_high)},
                        {"rank_level", finite(row.rank_level)},
                        {"p_equivalence", finite(row.p_equivalence)},
                        {"detectable", finite(row.detectable)},
                        {"margin", finite(row.margin)},
                        {"spent", finite(row.spent)},
                        {"decided_at", optional(row.decided_at)},
                        {"material", row.material},
                        {"fragile", row.fragile},
                        {"verdict", row.verdict},
                        {"reason", row.reason},
                        {"sentence", row.sentence}});
    }
    return list;
}

Json summaries(const ReportInput& report) {
    Json list = Json::array();
    for (const auto& summary : report.output.summaries) {
        const auto& series = report.input.series[static_cast<std::size_t>(summary.series)];
        list.push_back({{"arm", report.input.arms[static_cast<std::size_t>(summary.arm)].name},
                        {"workload", series.workload},
                        {"point", series.point},
                        {"metric", series.metric},
                        {"unit", series.unit},
                        {"better", to_string(series.better)},
                        {"scale", to_string(series.scale)},
                        {"score", score_word(series.quantile)},
                        {"boots", summary.boots},
                        {"values", summary.values},
                        {"mean", finite(summary.mean)},
                        {"relative_sd", finite(summary.relative_sd)},
                        {"min", finite(summary.min)},
                        {"max", finite(summary.max)}});
    }
    return list;
}

/// Metrics asked for that have no value anywhere, with the reason.
Json absent(const ReportInput& report) {
    std::map<std::pair<std::string, std::string>, std::string> reasons;
    for (const auto& sample : report.samples)
        if (!sample.value) reasons.insert({{sample.workload, sample.metric}, sample.reason});
    for (const auto& series : report.input.series) reasons.erase({series.workload, series.metric});
    Json list = Json::array();
    for (const auto& [what, reason] : reasons)
        list.push_back({{"workload", what.first}, {"metric", what.second}, {"reason", reason}});
    return list;
}

Json failures(const ReportInput& report) {
    Json list = Json::array();
    for (const auto& failure : report.output.failures)
        list.push_back({{"arm", report.input.arms[static_cast<std::size_t>(failure.arm)].name},
                        {"against", report.input.arms[static_cast<std::size_t>(failure.against)].name},
                        {"failed", failure.failed},
                        {"boots", failure.boots},
                        {"against_failed", failure.against_failed},
                        {"against_boots", failure.against_boots},
                        {"p", finite(failure.p)}});
    return list;
}

Json trades(const ReportInput& report) {
    const auto end = [&](int index) {
        const auto& comparison = report.output.comparisons[static_cast<std::size_t>(index)];
        return Json{{"workload", comparison.workload},
                    {"point", comparison.series < 0 ? "*" : series_of(report, comparison).point},
                    {"metric", comparison.metric}};
    };
    Json list = Json::array();
    for (const auto& trade : report.output.trades)
        list.push_back({{"arm", report.input.arms[static_cast<std::size_t>(trade.arm)].name},
                        {"better", end(trade.better_comparison)},
                        {"worse", end(trade.worse_comparison)},
                        {"at_point", trade.at_point}});
    return list;
}

/// The symbols with `least_share` or more in an arm.
Json profile_list(const ReportInput& report) {
    const auto name = [&](int arm) { return report.input.arms[static_cast<std::size_t>(arm)].name; };
    Json list = Json::array();
    for (const auto& profile : profiles(report)) {
        Json boots = Json::object(), symbols = Json::array();
        for (std::size_t arm = 0; arm < profile.boots.size(); ++arm)
            boots[name(static_cast<int>(arm))] = profile.boots[arm];
        for (const auto& line : profile.lines) {
            Json shares = Json::object(), differences = Json::array();
            for (std::size_t arm = 0; arm < line.share.size(); ++arm) {
                shares[name(static_cast<int>(arm))] = finite(line.share[arm]);
                const auto& difference = line.difference[arm];
                if (!difference) continue;
                differences.push_back({{"arm", name(static_cast<int>(arm))},
                                       {"against", name(report.input.arms[arm].against)},
                                       {"n", difference->n},
                                       {"difference", finite(difference->value)},
                                       {"low", finite(difference->low)},
                                       {"high", finite(difference->high)},
                                       {"p", finite(difference->p)},
                                       {"p_adjusted", finite(difference->p_adjusted)}});
            }
            symbols.push_back({{"symbol", line.symbol},
                               {"caller", line.caller.empty() ? Json(nullptr) : Json(line.caller)},
                               {"shares", shares},
                               {"differences", differences}});
        }
        list.push_back(
            {{"workload", profile.workload}, {"point", profile.point}, {"boots", boots}, {"symbols", symbols}});
    }
    return list;
}

Json plain_claims(const ReportInput& report) {
    Json list = Json::array();
    for (auto& claim : claims(report)) list.push_back(plain(std::move(claim)));
    return list;
}

/// Finished ones, named as the columns of v_boot.
Json boots(const ReportInput& report) {
    std::set<std::string> controls, accepted;
    for (const auto& arm : report.tree.arms)
        if (arm.control) controls.insert(arm.name);
    for (const auto& boot : report.tree.boots)
        if (boot.accepted_attempt_id) accepted.insert(boot.uid);
    Json list = Json::array();
    for (const auto& boot : report.boots)
        list.push_back({{"arm", boot.arm},
                        {"control", controls.contains(boot.arm)},
                        {"block", boot.block},
                        {"repetition", boot.repetition},
                        {"block_status", boot.block_status},
                        {"position", boot.position},
                        {"boot", boot.uid},
                        {"outcome", boot.outcome},
                        {"detail", boot.detail},
                        {"accepted", accepted.contains(boot.uid)},
                        {"attempts", boot.attempts},
                        {"lost_attempts", boot.lost_attempts},
                        {"false_starts", boot.false_starts},
                        {"host", boot.host},
                        {"accel", boot.accel},
                        {"accel_reason", boot.accel_reason},
                        {"machine", boot.machine},
                        {"emulator", boot.emulator},
                        {"channel", boot.channel},
                        {"environment", parsed(boot.environment)},
                        {"setup_ns", boot.setup_ns},
                        {"hello_ns", boot.hello_ns},
                        {"work_ns", boot.work_ns},
                        {"teardown_ns", boot.teardown_ns},
                        {"console_path", boot.console_path.empty() ? Json(nullptr) : Json(boot.console_path)}});
    return list;
}

/// How quiet the machine was; a canary as the share by which it was slower than its block's fastest.
Json conditions(const ReportInput& report) {
    Json list = Json::array();
    for (const auto& c : summarise_conditions(report))
        list.push_back({{"condition", c.name},
                        {"runs", c.runs},
                        {"absent", c.absent},
                        {"reason", c.reason},
                        {"median", optional(c.median)},
                        {"worst", optional(c.worst)},
                        {"worst_block", c.worst ? Json(c.worst_block) : Json(nullptr)},
                        {"worst_arm", c.worst ? Json(c.worst_arm) : Json(nullptr)},
                        {"worst_seq", c.worst ? Json(c.worst_seq) : Json(nullptr)},
                        {"excluded_above", optional(c.bound)}});
    return list;
}

/// Tries at blocks that do not count.
Json exclusions(const ReportInput& report) {
    Json list = Json::array();
    for (const auto& block : report.tree.blocks)
        if (block.status == "excluded")
            list.push_back({{"block", block.number},
                            {"repetition", block.repetition},
                            {"cause", block.cause},
                            {"detail", block.detail}});
    return list;
}

}  // namespace

std::string render_json(const ReportInput& report) {
    const auto& evaluation = report.tree.evaluation;
    const auto& design = report.input.design;
    Json json{{"evaluation", evaluation.uid},
              {"experiment", evaluation.experiment},
              {"question", evaluation.question},
              {"status", evaluation.status},
              {"detail", evaluation.detail},
              {"created_at", evaluation.created_at},
              {"started_at", optional(evaluation.started_at)},
              {"finished_at", optional(evaluation.finished_at)},
              {"seed", std::to_string(evaluation.seed)},
              {"spec_hash", evaluation.spec_hash},
              {"plan_hash", evaluation.plan_hash},
              {"design",
               {{"primary", report.experiment.at("decide").at("primary")},
                {"at", report.experiment.at("decide").value("at", Json::object())},
                {"alpha", design.alpha},
                {"margin", design.margin},
                {"looks", design.looks},
                {"fixed", design.fixed},
                {"exact", design.exact}}},
              {"look", report.look < 0 ? Json(nullptr) : Json(report.look)},
              {"blocks", report.output.blocks},
              {"emulated", !caution(report).empty()},
              {"verdict", stats::to_string(report.output.verdict)},
              {"sentence", report.output.sentence},
              {"claims", plain_claims(report)},
              {"warnings", report.output.warnings},
              {"arms", arms(report)},
              {"summaries", summaries(report)},
              {"absent", absent(report)},
              {"checks", checks_json(report)},
              {"comparisons", comparisons(report)},
              {"trades", trades(report)},
              {"profiles", profile_list(report)},
              {"failures", failures(report)},
              {"faults", faults_json(report)},
              {"conditions", conditions(report)},
              {"exclusions", exclusions(report)},
              {"boots", boots(report)}};
    return dump_json(json) + "\n";
}

}  // namespace kab::report
