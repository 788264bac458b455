#pragma once
// A child process on an Asio event loop.
//
// The loop must be run by one thread only, and a ChildProcess is used and destroyed on that thread.
// Every child has a process group of its own, gets no descriptor but its stdio, default signal
// handling and an empty signal mask.
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <optional>

#include "common/process/spec.h"

namespace kab {

class ChildProcess {
  public:
    using Pipe = boost::asio::posix::stream_descriptor;
    using ExitHandler = std::function<void(Result<ExitStatus>)>;

    /// Fault::not_found when there is no such program or it cannot be executed, Fault::io otherwise.
    static Result<std::unique_ptr<ChildProcess>> start(const boost::asio::any_io_executor& executor,
                                                       const ProcessSpec& spec);

    /// Kills what still runs and reaps it (blocks for that: milliseconds).
    ~ChildProcess();
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    /// Of the program, or of its supervisor.
    int pid() const;

    /// This side of the pipes; nullptr where the spec says no pipe, or after close_stdin().
    Pipe* in();
    Pipe* out();
    Pipe* err();
    void close_stdin();

    /// Calls `handler` once, from the loop, after the end (for a supervised child: after the end of all
    /// its descendants). Output may still be waiting in the pipes. At most one wait at a time; the
    /// handler is not called once the ChildProcess is destroyed.
    void async_wait(ExitHandler handler);

    /// Known after async_wait's handler was called.
    std::optional<ExitStatus> status() const;

    /// SIGTERM (to the whole group), SIGKILL for all that is left after spec.grace. Does nothing after the end.
    void terminate();
    /// SIGKILL for the program and, if supervised, all descendants.
    void kill();

  private:
    struct State;
    explicit ChildProcess(std::shared_ptr<State> state) : state_(std::move(state)) {}
    std::shared_ptr<State> state_;
};

}  // namespace kab
