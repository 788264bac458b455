#pragma once
// Reads make's output as it comes: how far it is, and why it failed. Pure.
#include <cstdint>
#include <string>
#include <string_view>

namespace kab::kernel {

class BuildLog {
  public:
    /// Paths in messages are shown relative to `source`.
    explicit BuildLog(std::string source) : source_(std::move(source)) {}

    /// One line of make's output.
    void add(std::string_view line);

    std::int64_t objects() const { return objects_; }  ///< compiled or assembled for the kernel
    std::int64_t warnings() const { return warnings_; }
    bool linking() const { return linking_; }  ///< all objects are made
    bool full_disk() const { return full_disk_; }

    /// Why it failed, in one line: the first error of the compiler, else of another tool, else make's first
    /// complaint. Empty if there was none.
    std::string first_error() const;

  private:
    std::string source_;
    std::int64_t objects_ = 0, warnings_ = 0;
    bool linking_ = false, full_disk_ = false;
    std::string compiler_error_, tool_error_, make_error_;
};

}  // namespace kab::kernel
