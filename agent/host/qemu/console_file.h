#pragma once
// The console as a file that QEMU writes and kab-host follows.
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>

#include "common/files.h"

namespace kab::qemu {

/// QEMU writes the serial console byte by byte; over a socket each of them would wake this process and take
/// time from the guest. A file costs a wake-up in `interval` while something is printed, none otherwise,
/// and is whole even if this process dies. Lives on one event loop.
class ConsoleFile : public std::enable_shared_from_this<ConsoleFile> {
  public:
    using BytesHandler = std::function<void(std::string_view bytes)>;
    static constexpr auto interval = std::chrono::milliseconds(20);

    /// Makes the file (its directory too), empty. Fault::io.
    static Result<std::shared_ptr<ConsoleFile>> create(const boost::asio::any_io_executor& executor,
                                                       const fs::path& path, BytesHandler on_bytes);

    /// Gives what there is and has not been given. Fault::io.
    Status drain();
    /// No handler is called any more.
    void close();
    std::int64_t bytes() const { return bytes_; }

  private:
    ConsoleFile(const boost::asio::any_io_executor& executor, fs::path path, UniqueFd file, int notifications,
                BytesHandler on_bytes);
    void wait();
    void changed();

    fs::path path_;
    UniqueFd file_;
    boost::asio::posix::stream_descriptor notifications_;  ///< inotify
    boost::asio::steady_timer pause_;
    BytesHandler on_bytes_;
    std::int64_t bytes_ = 0;
};

}  // namespace kab::qemu
