#pragma once
// What a private daemon wrote into its log: why it ended is told there, and nowhere else once it is gone.
#include <cstdint>
#include <string>

#include "common/files.h"

namespace kab::cli {

class DaemonLog {
  public:
    /// Only what is written from now on counts.
    explicit DaemonLog(fs::path path) : path_(std::move(path)) { skip(); }

    /// The last line of level critical, else the last of level error, without time and level; empty if there is none.
    std::string complaint() const;
    /// The last line, whoever wrote it (the dynamic loader, say); empty if there is none.
    std::string last_line() const;
    /// Forgets what was written until now.
    void skip();
    const fs::path& path() const { return path_; }

  private:
    std::string text() const;

    fs::path path_;
    std::uintmax_t from_ = 0;
};

}  // namespace kab::cli
