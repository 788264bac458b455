#pragma once
// What a report says, section by section.
#include <optional>
#include <string>
#include <vector>

#include "daemon/report/document.h"
#include "daemon/report/report.h"

namespace kab::report {

Document compose(const ReportInput& report, bool explain);

// ---- its sections ----

/// One sentence for each treatment arm: what changed, by how much, how sure, at what price. Faults come first.
std::vector<std::string> claims(const ReportInput& report);
/// Boots that failed, one entry a cause: signature, trace, and where the whole console is. Empty without any.
Section faults_section(const ReportInput& report);
Section setup_section(const ReportInput& report);
std::vector<Section> result_sections(const ReportInput& report);
/// The comparisons of an arm in a workload: the verdicts, and the ranks beside t. Empty for a baseline.
std::vector<Table> comparison_tables(const ReportInput& report, const std::string& workload, int arm);
Section reliability_section(const ReportInput& report);
/// What the machine did beside the runs; empty where that is not known.
Section conditions_section(const ReportInput& report);
Section quality_section(const ReportInput& report);
Section reproduce_section(const ReportInput& report);
/// How each verdict came about, and what is in no figure.
std::vector<Section> explain_sections(const ReportInput& report);

// ---- shared by them ----

/// No more boots will come.
bool finished(const ReportInput& report);

/// Stopped for kernel faults in a row where its baseline was not: that is its verdict.
bool keeps_failing(const ReportInput& report, int arm);

/// "emulated: not evidence for hardware" if any boot was; else empty.
std::string caution(const ReportInput& report);

/// The series of a comparison; for a sweep's mean the first of its metric.
const stats::Series& series_of(const ReportInput& report, const stats::Comparison& comparison);

/// "ratio 0.808 (95% interval 0.781 to 0.836, adjusted p 0.0004, n = 6 blocks)"
std::string evidence(const ReportInput& report, const stats::Comparison& comparison);

/// "score of a boot: the p99 of its iterations, ..." where a workload declares no mean; else empty.
std::string score_note(const ReportInput& report, const std::string& workload);

const stats::Summary* find_summary(const ReportInput& report, int arm, int series);

/// Arms that are neither control nor relinked, as indices.
std::vector<int> shown_arms(const ReportInput& report);

/// The primary comparison of an arm (the sweep's mean when swept).
const stats::Comparison* primary_of(const ReportInput& report, int arm);

}  // namespace kab::report
