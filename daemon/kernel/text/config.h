#pragma once
// Kernel configuration: fragments as text, what they ask for, and what Kconfig granted. Pure.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace kab::kernel {

/// One line of a fragment: CONFIG_X=y, CONFIG_X="text", # CONFIG_X is not set (value n).
struct Setting {
    std::string symbol;  ///< without CONFIG_
    std::string value;   ///< y, m, n, a number, or a string with its quotes
    std::string where;   ///< "vm.config:12"
};

/// Begins a fragment within concatenated ones; line numbers count from the line after it.
std::string fragment_header(const std::string& name);

/// Every setting in order. Fault::spec names file and line of what is neither a setting, a comment nor empty.
Result<std::vector<Setting>> parse_fragments(const std::string& text);

/// Of several settings of a symbol the last stays.
std::vector<Setting> effective_settings(std::vector<Setting> settings);

/// As lines of a .config, in the order given.
std::string to_config_text(const std::vector<Setting>& settings);

/// Symbols of a .config with their values; symbols that are off are not in it.
std::map<std::string, std::string> parse_config(const std::string& text);

struct NotGranted {
    Setting asked;
    std::string got;  ///< n for a symbol that is off or does not exist
};

/// What was asked for and is not so in the .config that Kconfig made.
std::vector<NotGranted> not_granted(const std::vector<Setting>& settings, const std::string& config);

/// Symbols that differ between two .config files.
std::vector<std::string> changed_symbols(const std::string& before, const std::string& after);

}  // namespace kab::kernel
