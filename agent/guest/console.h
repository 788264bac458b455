#pragma once
// What the agent says to people who read the console.
#include <string>

namespace kab::guest {

/// Writes "kab-agent: text" as one line to the standard error, which is the console in a guest.
void say(const std::string& text);

/// "was killed by signal 11 (Segmentation fault)" or "exited with status 3", from a wait status.
std::string describe_exit(int status);

}  // namespace kab::guest
