#pragma once
// What one evaluation has to say on a question.
#include <string>
#include <variant>
#include <vector>

#include "common/json.h"
#include "daemon/history/history.h"

namespace kab::history {

struct Extracted {
    Value value;
    std::string setting, against, unit;
    bool emulated = false;
    Better better = Better::lower;
    Scale scale = Scale::log;
};

/// Whether `metric` of `workload` is the share of a group that leaves out the samples in user space (`of: kernel`).
/// `experiment`: as experiment_json has it.
bool share_of_kernel(const Json& experiment, const std::string& workload, const std::string& metric);

/// The value, or why it has none.
std::variant<Extracted, std::string> extract(const Question& question, const Record& record);

/// Every comparison on the question's metric and point of an evaluation that ended well, whatever its arms.
std::vector<Extracted> comparisons_of(const Question& question, const Record& record);

}  // namespace kab::history
