#pragma once
// Text as lines. Pure.
#include <string>
#include <string_view>
#include <vector>

namespace kab::kernel {

/// Lines without their '\n'; no empty one at the end.
std::vector<std::string> split_lines(std::string_view text);

}  // namespace kab::kernel
