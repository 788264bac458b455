#include "agent/guest/exact.h"

#include <alloca.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

namespace kab::guest {
namespace {

constexpr std::int64_t page_bytes = 4096;
constexpr std::int64_t most_pages = 1024;  ///< half of the usual limit of a stack

std::int64_t nanoseconds(const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::int64_t read_clock(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);  // cannot fail: both clocks exist since 2.6.32
    return nanoseconds(now);
}

/// Not inlined, so that the frame is there while `work` runs and gone afterwards.
[[gnu::noinline]] void on_lower_stack(std::size_t bytes, const std::function<void()>& work) {
    void* const room = alloca(bytes);
    asm volatile("" : : "r"(room) : "memory");
    work();
}

}  // namespace

Result<msg::AgentPlan> read_plan(const fs::path& file) {
    auto text = read_file(file);
    if (!text) return pass(text);
    auto message = msg::decode(*text);
    if (!message) return pass(message);
    if (auto* plan = std::get_if<msg::AgentPlan>(&*message)) return std::move(*plan);
    return fail(Fault::protocol, "{} holds another message than the plan of this boot", file.string());
}

void await_timer_phase(std::int64_t phase_ns) {
    // This clock stands still from tick to tick; its resolution is a tick.
    timespec tick{};
    ::clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
    const std::int64_t before = read_clock(CLOCK_MONOTONIC_COARSE);
    std::int64_t ticked = before;
    while (ticked == before) ticked = read_clock(CLOCK_MONOTONIC_COARSE);
    const std::int64_t until = ticked + phase_ns % std::max<std::int64_t>(1, nanoseconds(tick));
    while (read_clock(CLOCK_MONOTONIC) < until) continue;
}

void with_layout(std::int64_t pages, const std::function<void()>& work) {
    if (pages <= 0) return work();
    const auto bytes = static_cast<std::size_t>(std::min(pages, most_pages) * page_bytes);
    // Where one of these is refused, the layout is moved by less, and in the same way in every boot.
    (void)::sbrk(static_cast<std::intptr_t>(bytes));
    void* const taken =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    // Children would have its pages to copy, which is work and no layout.
    if (taken != MAP_FAILED) (void)::madvise(taken, bytes, MADV_DONTFORK);
    on_lower_stack(bytes, work);
}

}  // namespace kab::guest
