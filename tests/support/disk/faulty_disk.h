#pragma once
// A disk under SQLite that fails on demand: an SQLite VFS around the default one. While a FaultyDisk lives, every
// database that is opened in the process lies on it; close them before it goes. Only calls of the thread that made it
// are counted and fail, but for fail_elsewhere(): otherwise those of readers on other threads pass.
#include <cstdint>
#include <memory>

namespace kab::test {

class FaultyDisk {
  public:
    enum class Fault {
        no_space,      ///< ENOSPC: of writes and of what makes files grow
        io_error,      ///< EIO: of writes, syncs, truncations, opens for writing and removals
        short_write,   ///< half of the bytes arrive, then ENOSPC: a torn page
        sync_failure,  ///< what was written may not be on the disk
        read_error,    ///< EIO: of reads
    };
    static constexpr Fault faults[] = {Fault::no_space, Fault::io_error, Fault::short_write, Fault::sync_failure,
                                       Fault::read_error};
    static const char* name_of(Fault fault);

    FaultyDisk();
    ~FaultyDisk();
    FaultyDisk(const FaultyDisk&) = delete;
    FaultyDisk& operator=(const FaultyDisk&) = delete;

    /// Counts from now on the calls that `fault` concerns, and fails the one of that number (from 1); `lasting`: it and
    /// all after it, until heal(). 0: counts only.
    void fail(Fault fault, std::int64_t number, bool lasting);
    void heal();
    /// Fails the read of that number (from 1, counted from now on) that other threads make, once.
    void fail_elsewhere(std::int64_t number);
    bool failed_elsewhere() const;
    std::int64_t calls() const;   ///< counted since fail()
    std::int64_t failed() const;  ///< of them, how many failed

    /// Nothing is counted and nothing fails while one lives: for the test's own look into the database.
    class Pause {
      public:
        explicit Pause(FaultyDisk* disk);
        ~Pause();
        Pause(const Pause&) = delete;
        Pause& operator=(const Pause&) = delete;

      private:
        FaultyDisk* disk_;
    };

    struct Impl;

  private:
    std::unique_ptr<Impl> impl_;
};

}  // namespace kab::test
