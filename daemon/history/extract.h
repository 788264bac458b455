#pragma once
// What one evaluation has to say on a question.
#include <string>
#include <variant>
#include <vector>

#include "daemon/history/history.h"

namespace kab::history {

struct Extracted {
    Value value;
    std::string setting, against, unit;
    bool emulated = false;
    Better better = Better::lower;
    Scale scale = Scale::log;
};

/// The value, or why it has none.
std::variant<Extracted, std::string> extract(const Question& question, const Record& record);

/// Every comparison on the question's metric and point of an evaluation that ended well, whatever its arms.
std::vector<Extracted> comparisons_of(const Question& question, const Record& record);

}  // namespace kab::history
