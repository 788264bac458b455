#include "common/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

namespace kab {

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
    reset(other.release());
    return *this;
}

int UniqueFd::release() {
    return std::exchange(fd_, -1);
}

void UniqueFd::reset(int fd) {
    // close(2) errors are reported by fsync where the data matters (write_file).
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
}

Result<UniqueFd> open_file(const fs::path& path, int flags) {
    const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0644);
    if (fd < 0) return fail_errno(errno, "open " + path.string());
    return UniqueFd(fd);
}

Result<std::string> read_file(const fs::path& path, std::uint64_t limit) {
    auto fd = open_file(path, O_RDONLY);
    if (!fd) return pass(fd);
    std::string bytes;
    char buffer[65536];
    for (;;) {
        const ssize_t got = ::read(fd->get(), buffer, sizeof buffer);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail_errno(errno, "read " + path.string());
        if (got == 0) return bytes;
        bytes.append(buffer, static_cast<std::size_t>(got));
        if (bytes.size() > limit) return fail(Fault::io, "{} is larger than {} bytes", path.string(), limit);
    }
}

Status write_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t put = ::write(fd, bytes.data(), bytes.size());
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return fail_errno(errno, "write");
        bytes.remove_prefix(static_cast<std::size_t>(put));
    }
    return {};
}

namespace {

Status sync_directory(const fs::path& directory) {
    auto fd = open_file(directory.empty() ? fs::path(".") : directory, O_RDONLY | O_DIRECTORY);
    if (!fd) return pass(fd);
    if (::fsync(fd->get()) != 0) return fail_errno(errno, "fsync " + directory.string());
    return {};
}

Status write_and_sync(int fd, std::string_view bytes, const fs::path& path) {
    if (auto written = write_all(fd, bytes); !written)
        return fail(Fault::io, "{}: {}", path.string(), written.error().message);
    if (::fchmod(fd, 0644) != 0) return fail_errno(errno, "fchmod " + path.string());
    if (::fsync(fd) != 0) return fail_errno(errno, "fsync " + path.string());
    return {};
}

}  // namespace

Status sync_file(const fs::path& path) {
    auto fd = open_file(path, O_RDONLY);
    if (!fd) return pass(fd);
    if (::fsync(fd->get()) != 0) return fail_errno(errno, "fsync " + path.string());
    return sync_directory(path.parent_path());
}

Status write_file(const fs::path& path, std::string_view bytes) {
    std::string temporary = path.string() + ".XXXXXX";
    UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC));
    if (!fd) return fail_errno(errno, "create " + temporary);
    auto status = write_and_sync(fd.get(), bytes, path);
    if (status && ::rename(temporary.c_str(), path.c_str()) != 0) status = fail_errno(errno, "rename " + path.string());
    if (!status) {
        ::unlink(temporary.c_str());
        return status;
    }
    return sync_directory(path.parent_path());
}

Status make_directories(const fs::path& path) {
    std::error_code error;
    fs::create_directories(path, error);
    if (error) return fail(Fault::io, "create directory {}: {}", path.string(), error.message());
    return {};
}

Result<TempDir> TempDir::make(std::string_view prefix, const fs::path& parent) {
    fs::path base = parent;
    if (base.empty()) {
        const char* environment = std::getenv("TMPDIR");
        base = environment != nullptr && *environment != '\0' ? environment : "/tmp";
    }
    std::string name = (base / (std::string(prefix) + "XXXXXX")).string();
    if (::mkdtemp(name.data()) == nullptr) return fail_errno(errno, "create directory " + name);
    return TempDir(fs::path(name));
}

TempDir::TempDir(TempDir&& other) noexcept : path_(other.release()) {}

TempDir& TempDir::operator=(TempDir&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
}

TempDir::~TempDir() {
    if (path_.empty()) return;
    std::error_code ignored;  // nothing can be done about it in a destructor; the sweep at start finds leftovers
    fs::remove_all(path_, ignored);
}

fs::path TempDir::release() {
    return std::exchange(path_, fs::path());
}

namespace {

Result<UniqueFd> lock(const fs::path& path, int operation) {
    auto fd = open_file(path, O_RDWR | O_CREAT);
    if (!fd) return pass(fd);
    while (::flock(fd->get(), operation) != 0) {
        if (errno == EINTR) continue;
        if (errno == EWOULDBLOCK) return fail(Fault::conflict, "{} is locked by another process", path.string());
        return fail_errno(errno, "lock " + path.string());
    }
    return fd;
}

}  // namespace

Result<FileLock> FileLock::take(const fs::path& path, Mode mode) {
    auto fd = lock(path, mode == Mode::shared ? LOCK_SH : LOCK_EX);
    if (!fd) return pass(fd);
    return FileLock(std::move(*fd));
}

Result<FileLock> FileLock::try_take(const fs::path& path, Mode mode) {
    auto fd = lock(path, (mode == Mode::shared ? LOCK_SH : LOCK_EX) | LOCK_NB);
    if (!fd) return pass(fd);
    return FileLock(std::move(*fd));
}

}  // namespace kab
