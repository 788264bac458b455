#pragma once
// What kind of machine and kernel this is, as the report will state it.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "protocol/messages.h"

namespace kab::guest {

/// Everything in AgentHello, read from /proc, /sys and the kernel log. What cannot be read stays
/// empty, false or 0; `problems` (of init and of modules) become its first warnings.
msg::AgentHello describe_environment(std::vector<std::string> problems);

/// "queued", "pv", "test-and-set" or "unknown": how a contended spinlock of this kernel waits.
/// `log` is the kernel log from its start, `cpuinfo` is /proc/cpuinfo, `version` is uname -v.
/// x86 only; elsewhere, and where the log's start is lost, it is "unknown".
///
/// A kernel with PARAVIRT decides at boot: on bare hardware it queues; under a hypervisor it uses
/// pv locks if PARAVIRT_SPINLOCKS is built in and the hypervisor can kick; else test-and-set, unless
/// that was ruled out by "nopvspin" or by a hint of dedicated CPUs. Without PARAVIRT it queues.
std::string lock_kind(std::string_view log, std::string_view cpuinfo, std::string_view version);

/// Debug options that cost time, as far as the kernel log shows them: one line each. (Others leave no
/// mark that is cheap to find; whoever built the kernel knows its configuration.)
std::vector<std::string> debug_warnings(std::string_view log);

/// True when all CPUs in the text of /proc/timer_list have `.hres_active : 1`.
bool high_resolution(std::string_view timer_list);

/// True when the text of /proc/timer_list tells that the kernel was built with high-resolution timers and does not
/// use them on some CPU.
bool high_resolution_inactive(std::string_view timer_list);

/// Fault::io when the text of /proc/lockdep_stats says that the validator of locks has switched itself off. It does so
/// at its first report and at the first of its own limits, of which it tells on a verbose console only; nothing is
/// validated afterwards. Empty text: the kernel has none.
Status check_lock_validation(std::string_view lockdep_stats);
/// The same of the kernel that runs.
Status check_lock_validation();

/// What the kernel keeps time by now: "tsc", "tsc-early" in the first second of a boot, "kvm-clock".
std::string current_clocksource();

/// Fault::infra when the kernel has since left `before`: times of before and after do not compare.
/// From tsc-early to tsc is no change, as they are the same counter.
Status check_clocksource(const std::string& before);

}  // namespace kab::guest
