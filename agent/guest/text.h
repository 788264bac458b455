#pragma once
// Small readers of what the kernel shows as text under /proc and /sys.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace kab::guest {

/// Without white space at both ends.
std::string_view trim(std::string_view text);

/// The first line with `text` cut after it; empty when nothing is left.
std::string_view next_line(std::string_view& text);

/// All of `text` as a decimal number; nullopt when it is anything else.
std::optional<std::int64_t> parse_integer(std::string_view text);

/// The file, at most 8 MiB; nullopt when it cannot be read (which is an answer for most files of /sys).
std::optional<std::string> read_text(const std::filesystem::path& path);

/// The value of `key` in the lines "key : value" of /proc/cpuinfo or "key: value" of /proc/meminfo;
/// of the first such line, trimmed; empty when there is none.
std::string_view field(std::string_view text, std::string_view key);

/// The value of the last word "key=value" of a kernel command line; empty when there is none.
std::string_view command_line_value(std::string_view command_line, std::string_view key);

}  // namespace kab::guest
