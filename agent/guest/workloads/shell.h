#pragma once
#include <memory>
#include <string>

#include "agent/guest/workloads/workload.h"

namespace kab::guest {

/// "shell", UnixBench's shell scripts: `loops` times a shell runs a script that starts `concurrency` others at once
/// and waits for them. Each of these sorts a text, dumps it in octal, looks for a word, counts what it found and
/// removes its files: sort, od, grep, tee, wc and rm, in four pipelines of a real shell, each tool
/// by an execve() of its own.
///
/// Metrics: `rate`, rounds a second (UnixBench counts them by the minute), and UnixBench's `index`, which it has for a
/// concurrency of 1 and of 8.
///
/// `shell` is what runs the scripts; `tools` is the directory of what they call.
std::unique_ptr<Workload> make_shell_of(std::string shell, std::string tools);
std::unique_ptr<Workload> make_shell();  ///< /bin/sh, which kab-host packs

}  // namespace kab::guest
