#pragma once
// Git commands, run as processes. Nothing of the caller's GIT_* environment gets through, so that kab works
// from within a git hook too.
#include <string>
#include <vector>

#include "common/process/run.h"
#include "common/result.h"
#include "daemon/kernel/text/lines.h"

namespace kab::kernel {

/// One repository (or none) and how commands see it.
struct Git {
    fs::path git_dir = {};            ///< GIT_DIR; empty: found from `directory`
    fs::path directory = {};          ///< where commands run
    fs::path work_tree = {};          ///< GIT_WORK_TREE
    fs::path index = {};              ///< GIT_INDEX_FILE, so that the repository's own stays untouched
    fs::path objects = {};            ///< GIT_OBJECT_DIRECTORY: new objects go here
    fs::path borrowed_objects = {};   ///< GIT_ALTERNATE_OBJECT_DIRECTORIES
    bool user_configuration = false;  ///< honour ~/.gitconfig: for repositories and servers of the user's
    Nanoseconds limit{0};             ///< of one command; 0: none. For what waits for others: servers

    /// Runs `git ARGS`. An exit code other than 0 is not an error here.
    Result<RunOutput> run(std::vector<std::string> args, std::string input = {}) const;

    /// Stdout without trailing newlines. Fault::infra with git's first complaint when it exits with another
    /// code than 0; Fault::io when the disk is full; Fault::timeout after `limit`.
    Result<std::string> text(std::vector<std::string> args, std::string input = {}) const;

    /// As started by run(), for who talks to it.
    ProcessSpec spec(std::vector<std::string> args) const;
};

/// The first "error: ", "fatal: " line without that word, else the first line.
std::string first_complaint(const std::string& stderr_text);

/// True if a tool said that the disk is full.
bool tells_full_disk(std::string_view text);

/// True if git said something that it says of a damaged repository (and seldom otherwise).
bool tells_damage(std::string_view text);

}  // namespace kab::kernel
