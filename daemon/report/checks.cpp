#include "daemon/report/checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/report/gather.h"

namespace kab::report {
namespace {

using Names = std::vector<std::string>;

std::string joined(const Names& names) {
    std::string all;
    for (const auto& name : names) all += (all.empty() ? "" : ", ") + name;
    return all;
}

/// What was planned, as the experiment has it.
struct Planned {
    Names everywhere, debug_only;
    bool any() const { return !everywhere.empty() || !debug_only.empty(); }
};

Planned planned(const ReportInput& report) {
    Planned checks;
    for (const auto& check : report.experiment.value("checks", Json::array()))
        (check.value("debug_only", false) ? checks.debug_only : checks.everywhere).push_back(check.value("check", ""));
    return checks;
}

/// The last boot of a kernel in the check block; of several tries a failed one, as a fault is never hidden.
const store::BootReport* check_boot(const ReportInput& report, const std::string& arm) {
    const store::BootReport* found = nullptr;
    for (const auto& boot : report.check_boots) {
        if (boot.arm != arm || (boot.outcome != "ok" && !kernel_fault(boot.outcome))) continue;
        if (found == nullptr || !kernel_fault(found->outcome)) found = &boot;
    }
    return found;
}

bool failed(const ReportInput& report, const std::string& arm) {
    const auto* boot = check_boot(report, arm);
    return boot != nullptr && kernel_fault(boot->outcome);
}

/// The debug variant of an arm; nullptr if it has none.
const store::ArmRow* variant_of(const ReportInput& report, const std::string& arm) {
    const auto found = std::find_if(report.debug_arms.begin(), report.debug_arms.end(),
                                    [&](const store::ArmRow& debug) { return debug.name == arm + "'debug"; });
    return found == report.debug_arms.end() ? nullptr : &*found;
}

/// Kernels that have something to check, the arms first. A control is the image of another arm.
Names kernels(const ReportInput& report, const Planned& checks) {
    Names names;
    for (const auto& arm : report.tree.arms)
        if (!arm.control && !checks.everywhere.empty()) names.push_back(arm.name);
    for (const auto& arm : report.debug_arms) names.push_back(arm.name);
    return names;
}

/// Arms of the experiment that have no debug variant, as an image has none.
Names without_variant(const ReportInput& report) {
    Names names;
    for (const auto& arm : report.tree.arms)
        if (arm.role == "measured" && variant_of(report, arm.name) == nullptr) names.push_back(arm.name);
    return names;
}

/// "every kernel and its debug variant": what passed, when nothing failed and nothing is open.
std::string all_of(const Planned& checks, const Names& passed, const Names& lacking, bool variants) {
    if (!variants) return "every kernel (there were no debug variants)";
    if (!lacking.empty()) return joined(passed);
    return checks.everywhere.empty() ? "the debug variant of every arm" : "every kernel and its debug variant";
}

}  // namespace

void set_checks_apart(ReportInput& report) {
    auto& arms = report.tree.arms;
    for (std::size_t i = arms.size(); i-- > 0;) {
        if (arms[i].role != "debug") continue;
        const auto at = static_cast<std::ptrdiff_t>(i);
        report.debug_arms.insert(report.debug_arms.begin(), std::move(arms[i]));
        arms.erase(arms.begin() + at);
        if (i < report.kernels.size()) report.kernels.erase(report.kernels.begin() + at);
    }
    auto& boots = report.boots;
    const auto timed = std::stable_partition(
        boots.begin(), boots.end(), [](const store::BootReport& boot) { return boot.block != check_block_number; });
    report.check_boots.insert(report.check_boots.end(), std::make_move_iterator(timed),
                              std::make_move_iterator(boots.end()));
    boots.erase(timed, boots.end());
}

bool failed_checks(const ReportInput& report, int arm) {
    const auto& row = report.tree.arms[static_cast<std::size_t>(arm)];
    const auto& name = row.control ? row.against : row.name;
    const auto* variant = variant_of(report, name);
    return failed(report, name) || (variant != nullptr && failed(report, variant->name));
}

std::vector<std::string> check_claims(const ReportInput& report) {
    std::vector<std::string> claims;
    for (std::size_t i = 0; i < report.tree.arms.size(); ++i) {
        const auto& row = report.tree.arms[i];
        // Before the block is over no arm has been stopped, but what failed has failed.
        if (row.control || !failed_checks(report, static_cast<int>(i))) continue;
        std::string what = row.detail.substr(0, row.detail.find('\n'));
        if (row.status != "stopped") what = "failed its checks";
        claims.push_back(fmt::format(
            "WRONG: {} {}{} It is not timed{}.", row.name, what, what.empty() || what.back() != '.' ? "." : "",
            row.against.empty() ? "; as it is the baseline, nothing is judged against it" : ""));
    }
    return claims;
}

std::string check_summary(const ReportInput& report) {
    const auto checks = planned(report);
    if (!checks.any()) return "";
    Names passed, wrong, open;
    for (const auto& name : kernels(report, checks)) {
        const auto* boot = check_boot(report, name);
        (boot == nullptr ? open : kernel_fault(boot->outcome) ? wrong : passed).push_back(name);
    }
    const bool variants = !report.debug_arms.empty();
    const auto lacking = without_variant(report);
    std::string which = joined(checks.everywhere), missing;
    if (!checks.debug_only.empty() && variants)
        which += fmt::format("{}{} (on debug variants only)", which.empty() ? "" : ", ", joined(checks.debug_only));
    if (variants && !lacking.empty()) missing = "; no debug variant of " + joined(lacking);
    if (!checks.debug_only.empty() && !variants)
        missing = fmt::format("; {} not run, as there are no debug variants", joined(checks.debug_only));
    if (which.empty()) return missing.substr(2);
    if (wrong.empty() && open.empty())
        return fmt::format("{}: passed on {} before anything was timed{}", which,
                           all_of(checks, passed, lacking, variants), missing);
    std::string text = which + ":";
    if (!wrong.empty()) text += " FAILED on " + joined(wrong) + ";";
    if (!passed.empty()) text += " passed on " + joined(passed) + ";";
    if (!open.empty()) text += " not run on " + joined(open) + ";";
    text.pop_back();
    return text + missing;
}

Json checks_json(const ReportInput& report) {
    const auto checks = planned(report);
    if (!checks.any()) return nullptr;
    Json results = Json::array();
    const auto add = [&](const std::string& kernel, const std::string& arm, bool debug) {
        const auto* boot = check_boot(report, kernel);
        results.push_back({{"arm", arm},
                           {"debug", debug},
                           {"outcome", boot == nullptr ? Json(nullptr) : Json(boot->outcome)},
                           {"detail", boot == nullptr ? "" : boot->detail},
                           {"console", boot == nullptr ? "" : boot->console_path}});
    };
    for (const auto& arm : report.tree.arms) {
        if (arm.control) continue;
        if (!checks.everywhere.empty()) add(arm.name, arm.name, false);
        if (const auto* variant = variant_of(report, arm.name)) add(variant->name, arm.name, true);
    }
    return {{"checks", checks.everywhere}, {"checks_of_debug_variants", checks.debug_only}, {"results", results}};
}

}  // namespace kab::report
