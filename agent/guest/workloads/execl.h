#pragma once
#include <memory>
#include <string>

#include "agent/guest/workloads/workload.h"

namespace kab::guest {

/// "execl", UnixBench's program replacement: a process calls execl() of its own program, `loops` times.
///
/// Metrics: `rate`, calls a second from before the first until the last image has started its main(), and UnixBench's
/// `index`. `program` is what is executed (links are followed once, before the first
/// run); it must hand its arguments to execl_main() when is_execl() says so.
std::unique_ptr<Workload> make_execl_of(std::string program);
std::unique_ptr<Workload> make_execl();  ///< of the running program

/// Whether the arguments of main() are those of an image of this workload.
bool is_execl(int count, char** arguments);
/// main() of such an image: replaces itself, or tells the time when all is done. The exit status of a failure.
int execl_main(int count, char** arguments);

}  // namespace kab::guest
