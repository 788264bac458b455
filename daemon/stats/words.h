#pragma once
// Numbers and sentences for people, the same wherever a comparison is spoken of.
#include <string>

#include "daemon/stats/analysis.h"

namespace kab::stats {

/// 0.123 -> "+12.3%".
std::string percent(double share);
/// "p = 0.012", "p < 0.0001".
std::string p_text(double p);
/// "2%", "0.5%".
std::string plain_percent(double share);
/// An estimate's value as people read it: "+12.3%" of a ratio, "+3.2 ns" of a difference.
std::string change(double value, Scale scale, const std::string& unit);
/// "3, 7, 9" or, past ten, "3, 7, ... (14 in all)".
std::string listed(const std::vector<int>& numbers);
/// "1 block", "12 blocks".
std::string counted(long long n, const char* noun);

}  // namespace kab::stats
