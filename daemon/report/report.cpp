#include "daemon/report/report.h"

#include <algorithm>

#include "daemon/report/checks.h"
#include "daemon/report/compose.h"
#include "daemon/report/costs.h"
#include "daemon/report/document.h"
#include "daemon/report/gather.h"

namespace kab::report {
Result<ReportInput> assemble(ReportInput report) {
    auto experiment = parse_json(report.tree.evaluation.experiment_json);
    if (!experiment)
        return tl::unexpected(Error{Fault::internal,
                                    "its stored experiment cannot be read: " + experiment.error().message,
                                    "evaluation " + report.tree.evaluation.uid});
    report.experiment = std::move(*experiment);
    set_checks_apart(report);
    const auto look = shown_look(report.tree);
    if (!look) return pass(look);
    report.look = *look;
    auto input = analysis_input(report.tree, report.kernels, report.samples, report.boots, report.look);
    if (!input) return pass(input);
    report.input = std::move(*input);
    const auto costs = measured_costs(report);
    report.output = stats::analyse(report.input, costs.boot_ns, costs.iteration_ns);
    return report;
}

Result<ReportInput> gather(const store::Store& store, const std::string& evaluation_uid) {
    ReportInput report;
    auto tree = store.tree(evaluation_uid);
    if (!tree) return pass(tree);
    report.tree = std::move(*tree);
    const auto kernels = store.kernels_of(evaluation_uid);
    if (!kernels) return pass(kernels);
    for (const auto& arm : report.tree.arms) {
        const auto found = std::find_if(kernels->begin(), kernels->end(), [&](const store::KernelRow& k) {
            return arm.kernel_id && k.id == *arm.kernel_id;
        });
        report.kernels.push_back(found == kernels->end() ? store::KernelRow{} : *found);
    }
    auto samples = store.samples(evaluation_uid);
    if (!samples) return pass(samples);
    report.samples = std::move(*samples);
    auto profile = store.profiles(evaluation_uid);
    if (!profile) return pass(profile);
    report.profile = std::move(*profile);
    auto boots = store.boots(evaluation_uid);
    if (!boots) return pass(boots);
    report.boots = std::move(*boots);
    auto console = store.console_events(evaluation_uid);
    if (!console) return pass(console);
    report.console = std::move(*console);
    auto failed = store.failed_boots(evaluation_uid);
    if (!failed) return pass(failed);
    report.failed = std::move(*failed);
    auto conditions = store.conditions(evaluation_uid);
    if (!conditions) return pass(conditions);
    report.conditions = std::move(*conditions);
    return assemble(std::move(report));
}

std::string render_text(const ReportInput& report, bool explain) {
    return to_text(compose(report, explain));
}

std::string render_markdown(const ReportInput& report, bool explain) {
    return to_markdown(compose(report, explain));
}

}  // namespace kab::report
