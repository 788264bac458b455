#pragma once
#include <cstddef>
#include <optional>

namespace kab::cli {

/// Columns of the terminal that `fd` is; absent when it is none. A terminal that does not say has 80.
std::optional<std::size_t> terminal_width(int fd);

/// Columns for what goes to standard output: the terminal's (40 at least), 78 where it is none.
std::size_t output_width();

}  // namespace kab::cli
