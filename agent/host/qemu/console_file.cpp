#include "agent/host/qemu/console_file.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace kab::qemu {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

ConsoleFile::ConsoleFile(const asio::any_io_executor& executor, fs::path path, UniqueFd file, int notifications,
                         BytesHandler on_bytes)
    : path_(std::move(path)),
      file_(std::move(file)),
      notifications_(executor, notifications),
      pause_(executor),
      on_bytes_(std::move(on_bytes)) {}

Result<std::shared_ptr<ConsoleFile>> ConsoleFile::create(const asio::any_io_executor& executor, const fs::path& path,
                                                         BytesHandler on_bytes) {
    if (path.has_parent_path()) {
        if (auto made = make_directories(path.parent_path()); !made) return pass(made);
    }
    auto file = open_file(path, O_RDWR | O_CREAT | O_TRUNC);
    if (!file) return pass(file);
    UniqueFd notifications(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    if (!notifications || ::inotify_add_watch(notifications.get(), path.c_str(), IN_MODIFY) < 0) {
        return fail_errno(errno, "watch " + path.string());
    }
    try {
        std::shared_ptr<ConsoleFile> made(
            new ConsoleFile(executor, path, std::move(*file), notifications.get(), std::move(on_bytes)));
        (void)notifications.release();  // owned by the descriptor now
        made->wait();
        return made;
    } catch (const std::exception& e) {
        return fail(Fault::io, "watch {}: {}", path.string(), e.what());
    }
}

void ConsoleFile::wait() {
    notifications_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](ErrorCode error) {
        if (!error && self->on_bytes_) self->changed();
    });
}

void ConsoleFile::changed() {
    std::array<char, 4096> events;
    while (::read(notifications_.native_handle(), events.data(), events.size()) > 0) continue;
    // A failure to read here shows again in the last drain().
    if (auto drained = drain(); !drained || !on_bytes_) return;
    pause_.expires_after(interval);
    pause_.async_wait([self = shared_from_this()](ErrorCode error) {
        if (!error && self->on_bytes_) self->wait();
    });
}

Status ConsoleFile::drain() {
    std::array<char, 65536> buffer;
    while (on_bytes_) {
        const ssize_t got = ::pread(file_.get(), buffer.data(), buffer.size(), bytes_);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail_errno(errno, "read console " + path_.string());
        if (got == 0) return {};
        bytes_ += got;
        // The handler may close this.
        auto handler = std::exchange(on_bytes_, nullptr);
        handler({buffer.data(), static_cast<std::size_t>(got)});
        if (!notifications_.is_open()) return {};
        on_bytes_ = std::move(handler);
    }
    return {};
}

void ConsoleFile::close() {
    on_bytes_ = nullptr;
    ErrorCode ignored;
    notifications_.close(ignored);
    pause_.cancel();
}

}  // namespace kab::qemu
