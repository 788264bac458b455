#include "agent/guest/perf/sample_buffer.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace kab::guest {
namespace {

constexpr std::size_t word = sizeof(std::uint64_t);

/// Entries of a chain that are marks: what follows is of the kernel, of user space, ...
bool is_mark(std::uint64_t entry) {
    return entry >= static_cast<std::uint64_t>(PERF_CONTEXT_MAX);
}

/// Copies out of the ring, across its end too.
void copy(std::span<const std::byte> data, std::uint64_t at, std::span<std::uint64_t> to) {
    const std::size_t offset = at & (data.size() - 1), wanted = to.size_bytes();
    const std::size_t first = std::min(wanted, data.size() - offset);
    std::memcpy(to.data(), data.data() + offset, first);
    std::memcpy(reinterpret_cast<char*>(to.data()) + first, data.data(), wanted - first);
}

/// The frames of the kernel, without the marks and without the place itself, which comes first.
std::span<const std::uint64_t> callers_of(std::uint64_t address, std::span<std::uint64_t> chain) {
    std::size_t kept = 0;
    bool kernel = true;
    for (const std::uint64_t entry : chain) {
        if (is_mark(entry))
            kernel = entry == static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL);
        else if (kernel)
            chain[kept++] = entry;
    }
    const auto frames = chain.first(kept);
    return !frames.empty() && frames.front() == address ? frames.subspan(1) : frames;
}

Status take_sample(bool user, std::span<std::uint64_t> body, const std::function<void(const StackSample&)>& take) {
    // u64 ip; u64 nr; u64 ips[nr]
    if (body.size() < 2 || body[1] > body.size() - 2)
        return fail(Fault::protocol, "a sample of {} bytes is too short for its chain", word * body.size());
    if (user)
        take(StackSample{true, body[0], {}});
    else
        take(StackSample{false, body[0], callers_of(body[0], body.subspan(2, body[1]))});
    return {};
}

}  // namespace

std::size_t largest_sample(std::size_t depth) {
    constexpr std::size_t marks = 2;
    return sizeof(perf_event_header) + word * (2 + depth + marks);
}

Result<BufferEvents> read_samples(std::span<const std::byte> data, std::uint64_t tail, std::uint64_t head,
                                  const std::function<void(const StackSample&)>& take) {
    if (head < tail || head - tail > data.size())
        return fail(Fault::protocol, "{} bytes in a buffer of {}", head - tail, data.size());
    BufferEvents events;
    std::vector<std::uint64_t> body;
    while (tail < head) {
        std::uint64_t first = 0;
        if (head - tail < word) return fail(Fault::protocol, "{} bytes at the end are no record", head - tail);
        copy(data, tail, {&first, 1});
        perf_event_header header{};
        std::memcpy(&header, &first, sizeof header);
        if (header.size < sizeof header || header.size % word != 0 || header.size > head - tail)
            return fail(Fault::protocol, "a record of {} bytes where {} are left", header.size, head - tail);
        body.resize(header.size / word - 1);
        copy(data, tail + word, body);
        tail += header.size;
        if (header.type == PERF_RECORD_SAMPLE) {
            const bool user = (header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER;
            if (auto taken = take_sample(user, body, take); !taken) return pass(taken);
            ++events.samples;
        } else if (header.type == PERF_RECORD_LOST && body.size() >= 2) {
            events.lost += body[1];  // u64 id; u64 lost
        } else if (header.type == PERF_RECORD_THROTTLE) {
            ++events.throttled;
        }
    }
    return events;
}

}  // namespace kab::guest
