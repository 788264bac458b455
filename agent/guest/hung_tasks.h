#pragma once
// When a kernel that looks for hung tasks is to tell of them.
#include <filesystem>
#include <string_view>

#include "common/result.h"

namespace kab::guest {

inline constexpr const char* hung_task_file = "/proc/sys/kernel/hung_task_timeout_secs";

/// Writes the seconds of "kab.hung_task=N" of the kernel command line into `file`. No older kernel takes them from the
/// command line itself. Nothing is done where the word or the file is missing (the kernel does not look for hung
/// tasks), or where the command line sets the sysctl kernel.hung_task_timeout_secs. Fault::io.
Status set_hung_task_time(std::string_view command_line, const std::filesystem::path& file = hung_task_file);

}  // namespace kab::guest
