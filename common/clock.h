#pragma once
// Time is passed in, so that tests can tick it.
#include <chrono>
#include <cstdint>
#include <string>

namespace kab {

using Nanoseconds = std::chrono::nanoseconds;

/// A point in UTC as nanoseconds since 1970; what the database stores.
using WallTime = std::chrono::time_point<std::chrono::system_clock, Nanoseconds>;
/// A point on the monotonic clock; for deadlines and durations.
using SteadyTime = std::chrono::time_point<std::chrono::steady_clock, Nanoseconds>;

class Clock {
  public:
    virtual ~Clock() = default;
    virtual WallTime wall() const = 0;
    virtual SteadyTime steady() const = 0;
};

/// The machine's clocks.
class SystemClock final : public Clock {
  public:
    WallTime wall() const override;
    SteadyTime steady() const override;
};

/// A clock that stands still until told otherwise. Starts at 2020-01-01.
class ManualClock final : public Clock {
  public:
    WallTime wall() const override { return wall_; }
    SteadyTime steady() const override { return steady_; }
    void advance(Nanoseconds by) {
        wall_ += by;
        steady_ += by;
    }

  private:
    WallTime wall_{Nanoseconds{1577836800000000000}};
    SteadyTime steady_{Nanoseconds{1}};
};

/// "2026-03-01T12:00:00Z", seconds precision, UTC.
std::string to_rfc3339(WallTime time);

}  // namespace kab
