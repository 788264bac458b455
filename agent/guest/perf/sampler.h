#pragma once
// perf_event_open(2): where every CPU is, so many times a second, while a workload runs.
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "agent/guest/perf/sample_buffer.h"
#include "common/clock.h"
#include "common/files.h"

namespace kab::guest {

/// Samples all CPUs by a timer of each (cpu-clock), whatever runs there; idle ones are left out. The samples stay in
/// the kernel's buffers until the run is over, so that reading them disturbs nothing. The timer cannot interrupt where
/// interrupts are off: what is spent there shows up where they go on again.
class Sampler {
  public:
    /// Opens one event a CPU, stopped, with room for twice the samples of `expected` (0: unknown) at `frequency_hz`
    /// each.
    static Result<Sampler> open(std::int64_t frequency_hz, Nanoseconds expected);
    /// The same with a buffer of `bytes`, a power of two of pages, for each CPU.
    static Result<Sampler> open(std::int64_t frequency_hz, std::size_t bytes);

    Status enable();
    Status disable();

    /// After disable(): every sample of the run. Fault::io when they are not all of it, as a buffer was full before
    /// the run was over or the kernel held sampling up.
    Status read(const std::function<void(const StackSample&)>& take) const;

    /// Bytes for the samples of one CPU: a power of two, at least one page, at most its part of an eighth of `memory`.
    static std::size_t buffer_bytes(std::int64_t frequency_hz, Nanoseconds expected, std::size_t cpus,
                                    std::uint64_t memory);

  private:
    /// Memory shared with the kernel: a page of positions, then the ring.
    class Mapping {
      public:
        static Result<Mapping> make(int fd, std::size_t ring_bytes);
        Mapping(Mapping&& other) noexcept;
        Mapping& operator=(Mapping&&) = delete;
        ~Mapping();
        std::span<const std::byte> ring() const;
        std::uint64_t written() const;  ///< bytes since the beginning

      private:
        Mapping(void* address, std::size_t size) : address_(address), size_(size) {}
        void* address_;
        std::size_t size_;
    };
    struct Event {
        int cpu;
        UniqueFd fd;
        Mapping mapping;
    };
    Status control(unsigned long request, const char* action);
    Status read_one(const Event& event, const std::function<void(const StackSample&)>& take) const;

    std::vector<Event> events_;
};

/// The CPUs in the kernel's notation "0-2,5".
Result<std::vector<int>> parse_cpu_list(std::string_view text);

}  // namespace kab::guest
