#pragma once
// A console read in one piece.
#include <string_view>
#include <vector>

#include "agent/host/console/console_scanner.h"

namespace kab {

inline std::vector<msg::ConsoleEvent> scan(std::string_view text) {
    ConsoleScanner scanner;
    scanner.push(text);
    return scanner.finish();
}

}  // namespace kab
