#pragma once
// From the database to the analysis and back. The coordinator uses it at looks, the report afterwards: both see the
// same samples and so the same verdicts.
#include <string>
#include <vector>

#include "daemon/stats/analysis.h"
#include "daemon/store/store.h"

namespace kab::report {

/// What the analysis of one evaluation needs. `look` is the index of a planned look (from 0): blocks beyond it are left
/// out, so that an old look can be taken again. -1: everything there is, as a preview.
/// Fault::not_found for an unknown uid, Fault::internal when the stored experiment makes no sense.
Result<stats::Input> gather_analysis(const store::Store& store, const std::string& evaluation_uid, int look);

/// The same from rows already read: the evaluation's tree, its kernels, its samples that count and its finished boots.
/// Boots that ran on unlike machines (KVM and emulation, two clocksources, ...) are a failed gate. Of everything only
/// what had happened when the look was taken is used.
Result<stats::Input> analysis_input(const store::EvaluationTree& tree, const std::vector<store::KernelRow>& kernels,
                                    const std::vector<store::SampleRow>& samples,
                                    const std::vector<store::BootReport>& boots, int look);

/// The look whose figures a report shows: the last one taken. -1 when there is none yet, or when the evaluation ended
/// after it because an arm was stopped and nothing was left to compare: then all there is counts, and the analysis
/// (Output::decided) gives its verdict out of turn.
Result<int> shown_look(const store::EvaluationTree& tree);

/// As the table `comparison` has them, in the order of `output`.
std::vector<store::ComparisonRow> to_comparison_rows(const stats::Input& input, const stats::Output& output, int look);

/// A fault of the kernel under test or its workload, as opposed to ours: it counts against the arm.
bool kernel_fault(const std::string& outcome);

}  // namespace kab::report
