#pragma once
// The answer of an evaluation, as text for a mail (78 columns), markdown, JSON or CSV. Pure once gathered: the same
// database gives the same bytes.
#include <string>
#include <vector>

#include "common/json.h"
#include "daemon/stats/analysis.h"
#include "daemon/store/store.h"

namespace kab::report {

/// Everything a report is made of.
struct ReportInput {
    store::EvaluationTree tree;
    std::vector<store::KernelRow> kernels;       ///< parallel to tree.arms; an empty key where there is none
    std::vector<store::SampleRow> samples;       ///< all that count, also after the last look
    std::vector<store::ProfileRow> profile;      ///< all that count
    std::vector<store::BootReport> boots;        ///< finished ones
    std::vector<store::BootReport> check_boots;  ///< finished ones of the check block, which are in no figure
    std::vector<store::ArmRow> debug_arms;       ///< variants on which the checks ran as well; not among tree.arms
    std::vector<store::ConsoleEventRow> console;
    std::vector<store::FailedBootRow> failed;     ///< boots, those of the check block as well
    std::vector<store::ConditionRow> conditions;  ///< of all runs that count, also after the last look
    Json experiment;                              ///< the resolved spec
    int look = -1;                                ///< the last one taken; -1: none yet, the figures are a preview
    stats::Input input;
    stats::Output output;
};

/// Reads one evaluation (exact uid) and analyses it as its last look did.
Result<ReportInput> gather(const store::Store& store, const std::string& evaluation_uid);

/// The same from rows already read.
Result<ReportInput> assemble(ReportInput rows);

/// No line over 78 columns. `explain`: how each verdict came about, too.
std::string render_text(const ReportInput& report, bool explain = false);
std::string render_markdown(const ReportInput& report, bool explain = false);  ///< the same content
std::string render_json(const ReportInput& report);  ///< one object, see docs/report.md; ends with a newline
std::string render_csv(const ReportInput& report);   ///< one row a sample that counts (RFC 4180, with a header)

}  // namespace kab::report
