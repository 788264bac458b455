#include "daemon/report/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "daemon/report/checks.h"
#include "daemon/report/compose.h"

namespace kab::report {
namespace {

constexpr std::size_t longest_trace = 24;  ///< lines of a trace in a report; the console has all of it
constexpr std::size_t most_groups = 6;     ///< shown with a trace; a kernel can fail in many ways

/// What tells causes apart: the signature where it is what ended the boot, else the detail as well, as any boot may
/// print a warning. The numbers of a workload's own words may tell the cause, those of other details are of runs.
std::string cause(const store::FailedBootRow& boot) {
    const std::string told = boot.signature.empty() ? "" : boot.kind + ": " + boot.signature;
    const bool grave = boot.severity == "fatal" || boot.severity == "error";
    if (!told.empty() && grave && (boot.outcome == "kernel-crash" || boot.outcome == "hang")) return told;
    if (boot.outcome == "workload-error") return told + "\n" + boot.detail;
    std::string text = told + "\n";
    for (const char c : boot.detail)
        if (c < '0' || c > '9') text += c;
    return text;
}

/// Where an arm stands among those of the experiment, debug variants behind them.
std::size_t position(const ReportInput& report, const std::string& arm) {
    const auto& arms = report.tree.arms;
    const auto found =
        std::find_if(arms.begin(), arms.end(), [&](const store::ArmRow& row) { return row.name == arm; });
    return static_cast<std::size_t>(found - arms.begin());
}

/// Registers and code bytes say little to people, and nothing without the very image.
bool is_dump(const std::string& line) {
    static constexpr const char* beginnings[] = {"RSP: ", "RAX: ", "RDX: ", "RBP: ", "R10: ",  "R13: ",  "FS: ",
                                                 "CS: ",  "CR2: ", "DR0: ", "DR3: ", "PKRU: ", "Code: ", "PGD "};
    return std::any_of(std::begin(beginnings), std::end(beginnings),
                       [&](const char* start) { return line.rfind(start, 0) == 0; });
}

std::string where(const FaultGroup& group) {
    if (group.in_checks) return "in its checks";
    return fmt::format("in {} boot{}, first in block {}", group.boots, group.boots == 1 ? "" : "s", group.first->block);
}

std::string headline(const FaultGroup& group) {
    const auto& boot = *group.first;
    return fmt::format("{}: {} {}: {}", boot.arm, boot.outcome, where(group),
                       boot.detail.substr(0, boot.detail.find('\n')));
}

std::string signature(const store::FailedBootRow& boot) {
    if (boot.signature.empty()) return "none: the console tells of no fault";
    return fmt::format("{} ({}, {}; from line {} of the console)", boot.signature, boot.kind, boot.severity, boot.line);
}

}  // namespace

std::vector<FaultGroup> fault_groups(const ReportInput& report) {
    using Key = std::tuple<std::size_t, std::string, bool, std::string, std::string>;
    std::vector<std::pair<Key, FaultGroup>> groups;
    for (const auto& boot : report.failed) {
        const bool checks = boot.block == check_block_number;
        Key key{position(report, boot.arm), boot.arm, !checks, boot.outcome, cause(boot)};
        auto found = std::find_if(groups.begin(), groups.end(), [&](const auto& group) { return group.first == key; });
        if (found == groups.end()) found = groups.insert(groups.end(), {std::move(key), {&boot, checks, 0}});
        ++found->second.boots;
    }
    std::stable_sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) {
        return std::tie(std::get<0>(a.first), std::get<1>(a.first), std::get<2>(a.first)) <
               std::tie(std::get<0>(b.first), std::get<1>(b.first), std::get<2>(b.first));
    });
    std::vector<FaultGroup> result;
    for (const auto& [key, group] : groups) result.push_back(group);
    return result;
}

std::vector<std::string> trace_of(const std::string& text, std::size_t most) {
    std::vector<std::string> lines;
    std::size_t left_out = 0;
    for (std::size_t at = 0; at < text.size();) {
        const auto end = std::min(text.find('\n', at), text.size());
        std::string line;
        for (const char c : text.substr(at, end - at)) line += c == '\t' ? std::string("  ") : std::string(1, c);
        at = end + 1;
        if (line.rfind("(before) ", 0) == 0 || is_dump(line)) continue;
        if (lines.size() < most)
            lines.push_back(std::move(line));
        else
            ++left_out;
    }
    if (left_out > 0) lines.push_back(fmt::format("... {} more line{}", left_out, left_out == 1 ? "" : "s"));
    return lines;
}

Section faults_section(const ReportInput& report) {
    Section section{"Failed boots", {}};
    const auto groups = fault_groups(report);
    if (groups.empty()) return section;
    section.parts.emplace_back(Paragraph{fmt::format(
        "Whole consoles are files below artifacts in the state directory; kab show {} prints their full paths.",
        report.tree.evaluation.uid)});
    for (std::size_t i = 0; i < groups.size() && i < most_groups; ++i) {
        const auto& boot = *groups[i].first;
        section.parts.emplace_back(Paragraph{headline(groups[i])});
        section.parts.emplace_back(Pairs{{{"signature", signature(boot)}}});
        // In one piece, so that it can be copied.
        section.parts.emplace_back(
            Paragraph{"console " + (boot.console_path.empty() ? "was not kept" : boot.console_path)});
        if (!boot.text.empty()) section.parts.emplace_back(Verbatim{trace_of(boot.text, longest_trace)});
    }
    Items more;
    for (std::size_t i = most_groups; i < groups.size(); ++i) more.items.push_back(headline(groups[i]));
    if (!more.items.empty()) section.parts.emplace_back(std::move(more));
    return section;
}

Json faults_json(const ReportInput& report) {
    Json list = Json::array();
    for (const auto& group : fault_groups(report)) {
        const auto& boot = *group.first;
        const bool told = !boot.signature.empty();
        list.push_back({{"arm", boot.arm},
                        {"in_checks", group.in_checks},
                        {"outcome", boot.outcome},
                        {"boots", group.boots},
                        {"block", boot.block},
                        {"detail", boot.detail},
                        {"kind", told ? Json(boot.kind) : Json(nullptr)},
                        {"severity", told ? Json(boot.severity) : Json(nullptr)},
                        {"signature", told ? Json(boot.signature) : Json(nullptr)},
                        {"text", boot.text},
                        {"line", told ? Json(boot.line) : Json(nullptr)},
                        {"console", boot.console_path.empty() ? Json(nullptr) : Json(boot.console_path)}});
    }
    return list;
}

}  // namespace kab::report
