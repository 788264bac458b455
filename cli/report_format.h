#pragma once
#include <string>

#include "cli/command.h"
#include "common/paths.h"
#include "common/result.h"

namespace kab::cli {

/// "--format text|markdown|json|csv", and "--json".
void add_report_format(CLI::App& command, std::string& format);

/// The report of one evaluation from the database file. Fault::not_found for an unknown name. `explain` is for text and
/// markdown.
Result<std::string> render_report(const Paths& paths, const std::string& name, const std::string& format,
                                  bool explain = false);

struct FollowOptions {
    std::string format = "text";
    bool quiet = false;
};
void add_follow_options(CLI::App& command, FollowOptions& options);

/// What `run` and `watch` share: progress on stderr, then the report on stdout; the exit code.
int follow_and_report(const Paths& paths, const std::string& name, const FollowOptions& options,
                      bool cancel_when_interrupted);
/// The last part of it, for an evaluation that has ended. `untold`: no progress has named the arms that failed.
int report_end(const Paths& paths, const api::EvaluationDetail& detail, const FollowOptions& options, bool untold);

}  // namespace kab::cli
