#pragma once
// Files and descriptors: everything is opened close-on-exec, written whole or not at all.
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace kab {

namespace fs = std::filesystem;

/// Owns a file descriptor; closes it at the end of its life.
class UniqueFd {
  public:
    UniqueFd() = default;
    explicit UniqueFd(int fd) : fd_(fd) {}
    UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
    UniqueFd& operator=(UniqueFd&& other) noexcept;
    UniqueFd(const UniqueFd&) = delete;
    UniqueFd& operator=(const UniqueFd&) = delete;
    ~UniqueFd() { reset(); }

    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }
    int release();
    void reset(int fd = -1);

  private:
    int fd_ = -1;
};

/// open(2) with O_CLOEXEC. `flags` as for open(2); files are made with mode 0644.
Result<UniqueFd> open_file(const fs::path& path, int flags);

/// The whole file. Refuses more than `limit` bytes (default 64 MiB).
Result<std::string> read_file(const fs::path& path, std::uint64_t limit = 64U << 20);

/// Puts a file's content and its name onto the disk.
Status sync_file(const fs::path& path);

/// Writes `bytes` to a temporary file beside `path`, fsyncs, renames: readers see the old
/// or the new file, and after a failure (disk full) nothing is left behind.
Status write_file(const fs::path& path, std::string_view bytes);

/// write(2) until all is written.
Status write_all(int fd, std::string_view bytes);

/// mkdir -p.
Status make_directories(const fs::path& path);

/// A directory that is removed with all it holds at the end of its life.
class TempDir {
  public:
    /// Made under `parent` (default $TMPDIR or /tmp) as `<prefix>XXXXXX`.
    static Result<TempDir> make(std::string_view prefix, const fs::path& parent = {});
    TempDir(TempDir&& other) noexcept;
    TempDir& operator=(TempDir&& other) noexcept;
    ~TempDir();
    const fs::path& path() const { return path_; }
    /// Keeps the directory; the caller now owns it.
    fs::path release();

  private:
    explicit TempDir(fs::path path) : path_(std::move(path)) {}
    fs::path path_;
};

/// An flock(2) on a lock file; held until destroyed (or until the process ends).
class FileLock {
  public:
    enum class Mode { shared, exclusive };
    /// Waits until the lock is had.
    static Result<FileLock> take(const fs::path& path, Mode mode = Mode::exclusive);
    /// Fault::conflict at once if somebody holds it.
    static Result<FileLock> try_take(const fs::path& path, Mode mode = Mode::exclusive);

  private:
    explicit FileLock(UniqueFd fd) : fd_(std::move(fd)) {}
    UniqueFd fd_;
};

}  // namespace kab
