#include "agent/guest/perf/counters.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>

namespace kab::guest {
namespace {

struct NamedEvent {
    std::string_view name;
    PerfEvent event;
};

constexpr NamedEvent events[] = {
    {"task-clock", {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK}},
    {"cpu-clock", {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK}},
    {"context-switches", {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES}},
    {"cpu-migrations", {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS}},
    {"page-faults", {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS}},
    {"minor-faults", {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN}},
    {"major-faults", {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ}},
    {"cycles", {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES}},
    {"instructions", {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS}},
    {"branches", {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS}},
    {"branch-misses", {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES}},
    {"cache-references", {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES}},
    {"cache-misses", {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES}},
    {"stalled-cycles-frontend", {PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND}},
    {"stalled-cycles-backend", {PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND}},
    {"ref-cycles", {PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES}},
};

/// An event that ran for less than a tenth of the time is not scaled up.
constexpr std::uint64_t least_share = 10;

/// What every program does in any time at all.
bool never_zero(std::string_view counter) {
    return counter == "cycles" || counter == "instructions" || counter == "branches" || counter == "ref-cycles";
}

UniqueFd open_counter(const PerfEvent& event) {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = event.type;
    attributes.config = event.config;
    attributes.disabled = 1;
    attributes.inherit = 1;  // excludes reading as a group, hence one descriptor a counter
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    return UniqueFd(static_cast<int>(
        ::syscall(SYS_perf_event_open, &attributes, 0 /* this process */, -1 /* any CPU */, -1, PERF_FLAG_FD_CLOEXEC)));
}

std::string explain(int error_number, bool hardware) {
    std::string text = fail_errno(error_number, "perf_event_open").value().text();
    switch (error_number) {
        case ENOENT:
        case ENODEV:
        case EOPNOTSUPP:
        case EINVAL:
            return hardware ? "this machine does not offer the hardware event (" + text + ")"
                            : "this kernel does not offer the event (" + text + ")";
        case ENOSYS: return "the kernel was built without CONFIG_PERF_EVENTS";
        case EACCES:
        case EPERM: return text + ": needs root or a lower kernel.perf_event_paranoid";
        default: return text;
    }
}

}  // namespace

const PerfEvent* find_perf_event(std::string_view counter) {
    for (const auto& entry : events)
        if (entry.name == counter) return &entry.event;
    return nullptr;
}

msg::Sample scaled_sample(std::string metric, std::uint64_t raw, std::uint64_t enabled_ns, std::uint64_t running_ns) {
    msg::Sample sample;
    sample.metric = std::move(metric);
    sample.enabled_ns = static_cast<std::int64_t>(enabled_ns);
    sample.running_ns = static_cast<std::int64_t>(running_ns);
    if (running_ns == 0)
        sample.reason = fmt::format("never scheduled on a counter in {} ns", enabled_ns);
    else if (running_ns < enabled_ns / least_share)
        sample.reason =
            fmt::format("on a hardware counter for {} of {} ns only: ask for fewer at once", running_ns, enabled_ns);
    else if (raw == 0 && never_zero(sample.metric))
        sample.reason = fmt::format("this machine offers the event, but counted nothing in {} ns", running_ns);
    else if (running_ns == enabled_ns)
        sample.value = static_cast<double>(raw);
    else
        sample.value = static_cast<double>(raw) * (static_cast<double>(enabled_ns) / static_cast<double>(running_ns));
    return sample;
}

CounterSet CounterSet::open(const std::vector<std::string>& names) {
    CounterSet set;
    for (const auto& name : names) {
        Counter counter{name, {}, {}};
        if (const PerfEvent* event = find_perf_event(name)) {
            counter.fd = open_counter(*event);
            if (!counter.fd) counter.reason = explain(errno, event->type == PERF_TYPE_HARDWARE);
        } else {
            counter.reason = "the agent knows no event of this name";
        }
        set.counters_.push_back(std::move(counter));
    }
    return set;
}

Status CounterSet::control(unsigned long request, const char* action) {
    for (const auto& counter : counters_)
        if (counter.fd && ::ioctl(counter.fd.get(), request, 0) != 0)
            return fail_errno(errno, fmt::format("{} counter {}", action, counter.name));
    return {};
}

Status CounterSet::enable() {
    return control(PERF_EVENT_IOC_ENABLE, "start");
}
Status CounterSet::disable() {
    return control(PERF_EVENT_IOC_DISABLE, "stop");
}

Result<std::vector<msg::Sample>> CounterSet::read() const {
    std::vector<msg::Sample> samples;
    for (const auto& counter : counters_) {
        if (!counter.fd) {
            msg::Sample absent;
            absent.metric = counter.name;
            absent.reason = counter.reason;
            samples.push_back(std::move(absent));
            continue;
        }
        std::uint64_t values[3] = {};  // value, time enabled, time running
        const ssize_t count = ::read(counter.fd.get(), values, sizeof values);
        if (count < 0) return fail_errno(errno, "read counter " + counter.name);
        if (count != sizeof values) return fail(Fault::io, "read counter {}: {} bytes", counter.name, count);
        samples.push_back(scaled_sample(counter.name, values[0], values[1], values[2]));
    }
    return samples;
}

}  // namespace kab::guest
