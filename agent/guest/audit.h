#pragma once
// Auditing of system calls, which a kernel leaves out although it is on until there is a rule.
#include <linux/audit.h>

#include <string_view>

#include "common/result.h"

namespace kab::guest {

/// Whether the kernel command line has auditing on: "audit=1" or "audit=on".
bool wants_audit(std::string_view command_line);

/// "Record every system call of a user id that nobody has."
audit_rule_data rule_that_never_matches();

/// Loads that rule. Only with a rule does the kernel fill an audit context in each system call, and so has something to
/// do in its hooks; without any they return at once, whatever the command line says. No system call is recorded: what
/// the kernel's log gets is one record of the rule itself (CONFIG_CHANGE), and what a security module refuses. Needs
/// root. Fault::io says what the kernel lacks.
Status load_audit_rule();

}  // namespace kab::guest
