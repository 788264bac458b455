#pragma once
// Comma-separated values after RFC 4180.
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace kab::results {

struct CsvRow {
    int line = 0;  ///< on which it begins
    std::vector<std::string> fields;
};

/// Quoted fields may hold commas, doubled quotes and line ends; '\n' and "\r\n" both end a row. Empty lines are left
/// out. Fault::usage at "name:line" for a quote that never ends or has text after it.
Result<std::vector<CsvRow>> parse_csv(std::string_view text, const std::string& name);

}  // namespace kab::results
