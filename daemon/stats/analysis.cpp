#include "daemon/stats/analysis.h"

#include <cstddef>
#include <utility>

#include "daemon/stats/sentences.h"
#include "daemon/stats/warnings.h"
#include "daemon/stats/workings.h"

namespace kab::stats {

Output analyse(const Input& input, double cost_boot_ns, double cost_iteration_ns) {
    Workings workings = work_out(input, cost_boot_ns, cost_iteration_ns);
    Output& output = workings.output;
    for (std::size_t i = 0; i < output.comparisons.size(); ++i)
        output.comparisons[i].sentence = sentence(workings.rows[workings.order[i]], input.arms, workings.stage);
    output.sentence = stop_sentence(workings.conclusion, workings.stage, output);
    output.warnings = warnings_of(input, workings);
    return std::move(output);
}

}  // namespace kab::stats
