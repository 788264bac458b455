// Are the numbers and the struct pids of processes that are gone free again?
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <set>
#include <string_view>

#include "agent/guest/console.h"
#include "agent/guest/text.h"
#include "agent/guest/workloads/bench_worker.h"
#include "agent/guest/workloads/leak_search.h"
#include "agent/guest/workloads/pid_check_parts.h"
#include "common/files.h"

namespace kab::guest::pid_check {
namespace {

constexpr const char* pid_max_file = "/proc/sys/kernel/pid_max";
/// The kernel's RESERVED_PIDS: numbers from here on are given out again.
constexpr std::int64_t reserved_pids = 300;
/// The kernel's PIDS_PER_CPU_MIN: pid_max is not set to less than this for each CPU.
constexpr std::int64_t numbers_a_cpu = 8;

/// Processes of one kind in a batch when memory is looked at.
constexpr std::int64_t processes_a_batch = 200;
/// Less than any struct pid is.
constexpr std::int64_t least_struct_pid = 64;

int leave(void*) {
    return 0;
}

/// One after the other. Their numbers are all that matters, so they borrow the memory of their parent: to copy it takes
/// most of the time of a fork on an emulated CPU, and more on a kernel with all its debugging.
Status come_and_go(std::int64_t processes) {
    alignas(16) std::array<char, 16384> stack;
    for (std::int64_t i = 1; i <= processes; ++i) {
        // The parent sleeps until the child has left.
        const pid_t child = ::clone(leave, stack.data() + stack.size(), CLONE_VM | CLONE_VFORK | SIGCHLD, nullptr);
        const int error = errno;
        const auto name = fmt::format("process {} of {} that come and go", i, processes);
        if (child < 0) return fail_errno(error, fmt::format("fork of {}", name));
        if (auto ended = kab::guest::reap(child, name); !ended) return ended;
    }
    return {};
}

Status come_and_go_inside(std::int64_t processes) {
    return outside([=]() -> Status {
        auto first = CheckedChild::start("process 1", [=] { return come_and_go(processes); });
        return first ? first->wait() : pass(first);
    });
}

Status come_and_go_all(std::int64_t processes, bool nested) {
    if (auto good = come_and_go(processes); !good) return good;
    return nested ? come_and_go_inside(processes) : Status{};
}

/// The bytes of all slabs of the caches that struct pids come from: one, or in mainline one for each level, which may
/// be the same. SUnreclaim is no measure: kernel stacks that are free again leave their vmap_area behind until there
/// are thousands of them. Nothing where the kernel does not tell (CONFIG_SLUB_DEBUG).
Result<std::optional<std::int64_t>> bytes_of_pids() {
    std::set<fs::path> caches;
    for (const char* name : {"pid", "pid_2"}) {
        std::error_code absent;
        if (const auto cache = fs::canonical(fs::path("/sys/kernel/slab") / name, absent); !absent)
            caches.insert(cache);
    }
    std::int64_t bytes = 0;
    for (const auto& cache : caches) {
        const auto objects = read_text(cache / "total_objects"), size = read_text(cache / "slab_size");
        if (!objects || !size) return std::nullopt;
        const std::string_view count(*objects);  // followed by those of each node
        const auto number = parse_integer(trim(count.substr(0, count.find(' '))));
        const auto each = parse_integer(trim(*size));
        if (!number || !each) return fail(Fault::io, "{} says '{}' and '{}'", cache.string(), *objects, *size);
        bytes += *number * *each;
    }
    return caches.empty() ? std::nullopt : std::optional(bytes);
}

/// What is freed a grace period after its last use is freed by then.
void let_settle() {
    const timespec pause{0, 100'000'000};  // no event tells
    ::nanosleep(&pause, nullptr);
}

}  // namespace

Result<Setting> Setting::take(std::string file) {
    const auto text = read_text(file);
    const auto value = text ? parse_integer(trim(*text)) : std::nullopt;
    if (!value) return fail(Fault::io, "{} cannot be read", file);
    return Setting(std::move(file), *value);
}

Setting::~Setting() {
    if (auto restored = restore(); !restored) say(restored.error().text());
}

Status Setting::set(std::int64_t value) {
    changed_ = true;
    return write(value);
}

Status Setting::restore() {
    if (!std::exchange(changed_, false)) return {};
    return write(original_);
}

Status Setting::write(std::int64_t value) const {
    auto fd = open_file(file_, O_WRONLY);
    if (!fd) return pass(fd);
    if (auto written = write_all(fd->get(), fmt::format("{}\n", value)); !written)
        return fail(Fault::io, "set {} to {}: {}", file_, value, written.error().text());
    return {};
}

Status check_reuse(std::int64_t numbers, bool nested) {
    auto pid_max = Setting::take(pid_max_file);
    if (!pid_max) return pass(pid_max);
    const std::int64_t room = numbers + numbers_a_cpu * ::sysconf(_SC_NPROCESSORS_CONF);
    const std::int64_t lowered = std::min(pid_max->original(), reserved_pids + room);
    if (auto set = pid_max->set(lowered); !set) return set;
    // More than there are numbers at all, so that the count begins anew wherever it stands.
    if (auto good = come_and_go_all(lowered + 1, nested); !good)
        return fail(Fault::io, "with {} at {}: {} (are the numbers of processes that are gone free again?)",
                    pid_max_file, lowered, good.error().text());
    return pid_max->restore();
}

Status check_memory(bool nested) {
    const auto told = bytes_of_pids();
    if (!told) return pass(told);
    if (!*told) {
        say("pid-check: the kernel does not tell how many struct pids there are");
        return {};
    }
    LeakSearch search;
    search.batch_name = fmt::format("batch of {} processes", processes_a_batch * (nested ? 2 : 1));
    search.least_leak_bytes = processes_a_batch * least_struct_pid;
    search.measure_name = "slabs of struct pids";
    search.carry_out = [=] { return come_and_go_all(processes_a_batch, nested); };
    search.measure = []() -> Result<std::int64_t> {
        let_settle();
        const auto bytes = bytes_of_pids();
        return bytes ? Result<std::int64_t>(bytes->value_or(0)) : pass(bytes);
    };
    if (auto first = search.carry_out(); !first) return first;
    if (auto steady = expect_no_leak(search); !steady) return steady;
    say("pid-check: memory steady");
    return {};
}

}  // namespace kab::guest::pid_check
