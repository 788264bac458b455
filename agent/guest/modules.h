#pragma once
// Kernel modules that kab-host packed into the initramfs.
#include <filesystem>
#include <string>
#include <vector>

namespace kab::guest {

/// The list of module files, one path a line, in the order in which they are to be loaded.
inline constexpr const char* module_list = "/kab/modules/load";

/// Loads every module named in `list`; paths that are not absolute are taken from the folder of the
/// list. A module that is loaded or built in already is fine. Returns one line for each that could
/// not be loaded, and goes on after it; nothing when there is no list.
std::vector<std::string> load_modules(const std::filesystem::path& list);

}  // namespace kab::guest
