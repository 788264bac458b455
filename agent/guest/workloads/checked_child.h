#pragma once
// A forked process of a self-check, whose error reaches the parent as text.
#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <string>

#include "agent/guest/shared_memory.h"
#include "common/result.h"

namespace kab::guest {

/// Owns the process: one that was not waited for is killed and reaped.
class CheckedChild {
  public:
    /// Forks and carries out `work` there. `name` is how errors call the process: "reader 3".
    static Result<CheckedChild> start(std::string name, const std::function<Status()>& work);
    CheckedChild(CheckedChild&& other) noexcept;
    CheckedChild& operator=(CheckedChild&&) = delete;
    ~CheckedChild();

    pid_t pid() const { return pid_; }
    /// Whether it has ended already; wait() then tells how.
    Result<bool> has_ended() const;
    /// Until it ends: its error, or how it ended if it said nothing.
    Status wait();

  private:
    static constexpr std::size_t longest_error = 1000;
    struct Report {
        char text[longest_error + 1]{};
    };
    CheckedChild(std::string name, Shared<Report> report) : name_(std::move(name)), report_(std::move(report)) {}

    std::string name_;
    Shared<Report> report_;
    pid_t pid_ = -1;  ///< -1 once it is reaped
};

}  // namespace kab::guest
