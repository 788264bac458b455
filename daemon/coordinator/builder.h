#pragma once
// Kernels are frozen and built by the child process kab-build, one at a time.
#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>

#include "common/process/child.h"
#include "daemon/kernel/kernel.h"

namespace kab {

/// Where builds happen; faked in simulations.
class Builder {
  public:
    virtual ~Builder() = default;
    using Progress = kernel::Progress;
    /// `limit` does not run while the builder waits for the machine (step "waiting").
    virtual void freeze(const kernel::Request& request, Nanoseconds limit, Progress progress,
                        std::function<void(Result<kernel::Frozen>)> done) = 0;
    virtual void build(const kernel::Frozen& frozen, Nanoseconds limit, Progress progress,
                       std::function<void(Result<kernel::Built>)> done) = 0;
    /// Kills what is under way; its `done` gets Fault::cancelled.
    virtual void stop() = 0;
};

class ProcessBuilder final : public Builder {
  public:
    /// `program`: path of kab-build; `scratch`: directory for request files.
    ProcessBuilder(boost::asio::any_io_executor executor, fs::path program, fs::path scratch);
    ~ProcessBuilder() override;
    void freeze(const kernel::Request& request, Nanoseconds limit, Progress progress,
                std::function<void(Result<kernel::Frozen>)> done) override;
    void build(const kernel::Frozen& frozen, Nanoseconds limit, Progress progress,
               std::function<void(Result<kernel::Built>)> done) override;
    void stop() override;

  private:
    struct Job;
    void start(const std::string& verb, const Json& request, Nanoseconds limit, Progress progress,
               std::function<void(Result<Json>)> done);

    boost::asio::any_io_executor executor_;
    fs::path program_, scratch_;
    std::shared_ptr<Job> job_;
};

}  // namespace kab
