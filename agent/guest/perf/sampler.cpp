#include "agent/guest/perf/sampler.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "agent/guest/text.h"

namespace kab::guest {
namespace {

constexpr const char* online_cpus = "/sys/devices/system/cpu/online";

/// Deep enough to leave the locking functions and see who called them.
constexpr std::uint16_t deepest_chain = 32;
/// What a sample takes on average, rather more than less.
constexpr double average_bytes = 200;
/// Where it is not known how long the run will take.
constexpr Nanoseconds usual_length = std::chrono::seconds(20);
constexpr std::uint64_t memory_part = 8;

std::size_t page_bytes() {
    return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

Result<UniqueFd> open_event(int cpu, std::int64_t frequency_hz) {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    // The same event on every machine, so that profiles can be compared: hardware events are not everywhere.
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_CPU_CLOCK;
    attributes.freq = 1;
    attributes.sample_freq = static_cast<std::uint64_t>(frequency_hz);
    attributes.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN;
    attributes.sample_max_stack = deepest_chain;
    attributes.disabled = 1;
    attributes.exclude_idle = 1;
    attributes.exclude_callchain_user = 1;
    UniqueFd fd(static_cast<int>(
        ::syscall(SYS_perf_event_open, &attributes, -1 /* whatever runs there */, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
    if (fd) return fd;
    const int error = errno;
    if (error == ENOSYS) return fail(Fault::io, "the kernel was built without CONFIG_PERF_EVENTS");
    auto failed = fail_errno(error, fmt::format("perf_event_open, cpu-clock of CPU {}", cpu));
    if (error == EACCES || error == EPERM)
        failed.value().message += ": needs root or a lower kernel.perf_event_paranoid";
    return failed;
}

Result<std::vector<int>> cpus_online() {
    const auto text = read_text(online_cpus);
    if (!text) return fail(Fault::io, "{} cannot be read", online_cpus);
    return parse_cpu_list(*text);
}

std::uint64_t memory_of_machine() {
    return static_cast<std::uint64_t>(std::max(0L, ::sysconf(_SC_PHYS_PAGES))) * page_bytes();
}

}  // namespace

Result<std::vector<int>> parse_cpu_list(std::string_view text) {
    std::vector<int> cpus;
    std::string_view rest = trim(text);
    while (!rest.empty()) {
        const auto comma = rest.find(',');
        const std::string_view part = rest.substr(0, comma);
        rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
        const auto dash = part.find('-');
        const auto first = parse_integer(part.substr(0, dash));
        const auto last = dash == std::string_view::npos ? first : parse_integer(part.substr(dash + 1));
        constexpr std::int64_t most = 65535;
        if (!first || !last || *first < 0 || *last < *first || *last > most)
            return fail(Fault::io, "{}: not a list of CPUs: {}", online_cpus, text);
        for (auto cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<int>(cpu));
    }
    if (cpus.empty()) return fail(Fault::io, "{} names no CPU", online_cpus);
    return cpus;
}

std::size_t Sampler::buffer_bytes(std::int64_t frequency_hz, Nanoseconds expected, std::size_t cpus,
                                  std::uint64_t memory) {
    constexpr double reserve = 2, nanosecond = 1e-9;
    const Nanoseconds length = expected > Nanoseconds{0} ? expected : usual_length;
    // A short run may well take longer than twice the one before it.
    const double seconds = std::max(1.0, static_cast<double>(length.count()) * nanosecond);
    const double wanted = seconds * reserve * static_cast<double>(frequency_hz) * average_bytes;
    const double most = static_cast<double>(memory / memory_part / std::max<std::size_t>(1, cpus));
    const auto page = page_bytes();
    if (most <= static_cast<double>(page)) return page;
    const auto pages = static_cast<std::uint64_t>(std::min(wanted, most)) / page + 1;
    const auto rounded = std::bit_ceil(pages);
    const bool fits = static_cast<double>(rounded * page) <= most;
    return static_cast<std::size_t>(fits ? rounded : std::bit_floor(static_cast<std::uint64_t>(most) / page)) * page;
}

// ---- the mapping ----

Result<Sampler::Mapping> Sampler::Mapping::make(int fd, std::size_t ring_bytes) {
    const std::size_t size = page_bytes() + ring_bytes;
    // Writable, although nothing is written: else the kernel would overwrite the oldest samples.
    void* address = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (address == MAP_FAILED) return fail_errno(errno, fmt::format("mmap of {} bytes for samples", size));
    return Mapping(address, size);
}

Sampler::Mapping::Mapping(Mapping&& other) noexcept : address_(other.address_), size_(other.size_) {
    other.address_ = nullptr;
}

Sampler::Mapping::~Mapping() {
    if (address_ != nullptr) ::munmap(address_, size_);
}

std::span<const std::byte> Sampler::Mapping::ring() const {
    return {static_cast<const std::byte*>(address_) + page_bytes(), size_ - page_bytes()};
}

std::uint64_t Sampler::Mapping::written() const {
    const auto* page = static_cast<const perf_event_mmap_page*>(address_);
    return __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
}

// ---- the sampler ----

Result<Sampler> Sampler::open(std::int64_t frequency_hz, Nanoseconds expected) {
    const auto cpus = cpus_online();
    if (!cpus) return pass(cpus);
    return open(frequency_hz, buffer_bytes(frequency_hz, expected, cpus->size(), memory_of_machine()));
}

Result<Sampler> Sampler::open(std::int64_t frequency_hz, std::size_t bytes) {
    const auto cpus = cpus_online();
    if (!cpus) return pass(cpus);
    Sampler sampler;
    for (const int cpu : *cpus) {
        auto fd = open_event(cpu, frequency_hz);
        if (!fd) return pass(fd);
        auto mapping = Mapping::make(fd->get(), bytes);
        if (!mapping) return pass(mapping);
        sampler.events_.push_back({cpu, std::move(*fd), std::move(*mapping)});
    }
    return sampler;
}

Status Sampler::control(unsigned long request, const char* action) {
    for (const auto& event : events_)
        if (::ioctl(event.fd.get(), request, 0) != 0)
            return fail_errno(errno, fmt::format("{} sampling CPU {}", action, event.cpu));
    return {};
}

Status Sampler::enable() {
    return control(PERF_EVENT_IOC_ENABLE, "start");
}
Status Sampler::disable() {
    return control(PERF_EVENT_IOC_DISABLE, "stop");
}

Status Sampler::read_one(const Event& event, const std::function<void(const StackSample&)>& take) const {
    const auto ring = event.mapping.ring();
    const std::uint64_t written = event.mapping.written();
    const auto events = read_samples(ring, 0, written, take);
    if (!events) return pass(events);
    // The kernel tells of lost samples only once there is room again, which here there never is.
    if (events->lost > 0 || ring.size() - written <= largest_sample(deepest_chain))
        return fail(Fault::io,
                    "the buffer of CPU {} was full after {} samples, before the run was over: lower "
                    "'profile.frequency', or raise 'host.memory'",
                    event.cpu, events->samples);
    if (events->throttled > 0)
        return fail(Fault::io, "the kernel held up sampling on CPU {} {} times: lower 'profile.frequency'", event.cpu,
                    events->throttled);
    return {};
}

Status Sampler::read(const std::function<void(const StackSample&)>& take) const {
    for (const auto& event : events_)
        if (auto done = read_one(event, take); !done) return done;
    return {};
}

}  // namespace kab::guest
