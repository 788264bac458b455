#pragma once
#include <string>

#include "cli/command.h"
#include "cli/progress.h"

namespace kab::cli {

/// Ctrl-C is noted from now on instead of ending kab; follow() then cancels the evaluation. A second one ends kab at
/// once. Other signals (SIGTERM, SIGHUP) end kab and not the evaluation.
void note_interrupts();

/// Shows an evaluation until its end: progress on stderr, and what it came to. A daemon that went away is started
/// again and goes on where it was. The evaluation as it ended, if by Ctrl-C not before its boot and build have ended
/// (15 s at most); Fault::infra when the daemon does not stay up.
Result<api::EvaluationDetail> follow(const Paths& paths, const std::string& name, ProgressView::Style style,
                                     bool cancel_when_interrupted);

}  // namespace kab::cli
