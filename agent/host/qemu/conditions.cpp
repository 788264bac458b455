#include "agent/host/qemu/conditions.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace kab::qemu {
namespace {

/// At 100 ticks a second and CPU this tells a share of 1% on a single one.
constexpr Nanoseconds least_window = std::chrono::seconds(1);

/// Takes one number off the front; nothing when there is none.
std::optional<std::int64_t> take_number(std::string_view& text) {
    const auto begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return std::nullopt;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data() + begin, text.data() + text.size(), value);
    if (error != std::errc() || value < 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
}

std::optional<std::int64_t> number_in(const fs::path& file) {
    const auto text = read_file(file);
    if (!text) return std::nullopt;
    std::string_view rest = *text;
    return take_number(rest);
}

/// user nice system idle iowait irq softirq steal; what follows is part of user and nice. False when it is not that.
bool read_cpu_line(std::string_view fields, std::int64_t& steal, std::int64_t& all) {
    for (int i = 0; i < 8; ++i) {
        const auto value = take_number(fields);
        if (!value) return false;
        steal = *value;
        all += *value;
    }
    return true;
}

msg::Sample condition(const char* name, const Result<double>& value) {
    if (!value) return {name, std::nullopt, value.error().message, {}, {}};
    return {name, *value, {}, {}, {}};
}

}  // namespace

Result<HostConditions::CpuTimes> HostConditions::read_times() const {
    const auto text = read_file(root_ / "proc/stat");
    if (!text) return fail(Fault::infra, "/proc/stat cannot be read");
    CpuTimes times;
    bool sum = false, runnable = false;
    std::string_view rest = *text;
    while (!rest.empty()) {
        std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        if (line.starts_with("cpu ")) {
            sum = read_cpu_line(line.substr(4), times.steal, times.all);
        } else if (line.starts_with("cpu")) {
            ++times.cpus;
        } else if (line.starts_with("procs_running ")) {
            line.remove_prefix(14);
            const auto count = take_number(line);
            runnable = count.has_value();
            times.runnable = count.value_or(0);
        }
    }
    if (!sum || !runnable || times.cpus == 0) return fail(Fault::infra, "/proc/stat is not understood");
    return times;
}

/// Nanoseconds that the threads were runnable and had no CPU, since they exist.
Result<std::int64_t> HostConditions::read_delay() const {
    if (threads_.empty()) return fail(Fault::infra, "QEMU does not tell its threads");
    std::int64_t sum = 0;
    for (const int thread : threads_) {
        const auto text = read_file(root_ / fmt::format("proc/{0}/task/{0}/schedstat", thread));
        if (!text) return fail(Fault::infra, "the host's kernel has no schedstat of threads (CONFIG_SCHED_INFO)");
        std::string_view rest = *text;
        take_number(rest);  // the time on a CPU
        const auto delay = take_number(rest);
        if (!delay) return fail(Fault::infra, "schedstat of a virtual CPU's thread is not understood");
        sum += *delay;
    }
    return sum;
}

Result<std::int64_t> HostConditions::read_throttled() const {
    std::int64_t sum = 0;
    bool any = false;
    std::error_code ignored;  // no such directory: none found
    for (const auto& entry : fs::directory_iterator(root_ / "sys/devices/system/cpu", ignored)) {
        const auto count = number_in(entry.path() / "thermal_throttle/core_throttle_count");
        if (!count) continue;
        sum += *count;
        any = true;
    }
    if (!any) return fail(Fault::infra, "the host does not tell: no CPU has thermal_throttle");
    return sum;
}

/// Threads of the emulator that are runnable now, whatever they do.
Result<std::int64_t> HostConditions::own_runnable() const {
    if (threads_.empty()) return fail(Fault::infra, "QEMU does not tell its threads");
    std::int64_t count = 0;
    std::error_code error;
    // By the id of one thread the directory shows all of its process.
    const auto tasks = root_ / fmt::format("proc/{}/task", threads_.front());
    for (const auto& task : fs::directory_iterator(tasks, error)) {
        const auto text = read_file(task.path() / "stat");
        if (!text) continue;  // ended meanwhile
        // "TID (name) R ...", and a name may hold anything.
        const auto close = text->rfind(')');
        count += close != std::string::npos && text->compare(close, 3, ") R") == 0 ? 1 : 0;
    }
    if (error) return fail(Fault::infra, "the emulator's threads cannot be listed");
    return count;
}

Result<double> HostConditions::load(const Result<CpuTimes>& times) const {
    if (!times) return pass(times);
    const auto own = own_runnable();
    if (!own) return pass(own);
    const auto others = std::max<std::int64_t>(0, times->runnable - *own - 1);  // this process runs as it reads
    return static_cast<double>(others) / static_cast<double>(times->cpus);
}

HostConditions::Reading HostConditions::read(SteadyTime now) const {
    auto times = read_times();
    auto others = load(times);  // right after: both are of one moment, nearly
    return {now, std::move(times), read_delay(), read_throttled(), std::move(others)};
}

void HostConditions::begin(std::vector<int> vcpu_threads, SteadyTime now) {
    threads_ = std::move(vcpu_threads);
    past_.clear();
    start_.reset();
    if (const auto times = read_times()) past_.push_back({now, *times});
}

void HostConditions::run_started(SteadyTime now) {
    start_ = read(now);
    if (start_->times) past_.push_back({now, *start_->times});
}

Result<double> HostConditions::steal(const Reading& end) const {
    if (!end.times) return pass(end.times);
    if (!start_->times) return pass(start_->times);
    const auto latest = std::min(start_->at, end.at - least_window);
    const auto* from = &past_.front();
    for (const auto& past : past_)
        if (past.at <= latest) from = &past;
    const auto all = end.times->all - from->times.all;
    if (all <= 0) return fail(Fault::infra, "the run was too short for the steps of /proc/stat");
    const auto steal = std::max<std::int64_t>(0, end.times->steal - from->times.steal);
    return static_cast<double>(steal) / static_cast<double>(all);
}

Result<double> HostConditions::run_delay(const Reading& end) const {
    if (!end.delay_ns) return pass(end.delay_ns);
    if (!start_->delay_ns) return pass(start_->delay_ns);
    const auto time = (end.at - start_->at).count() * static_cast<std::int64_t>(threads_.size());
    if (time <= 0) return fail(Fault::infra, "the run was too short to be told");
    const auto delay = std::max<std::int64_t>(0, *end.delay_ns - *start_->delay_ns);
    return static_cast<double>(delay) / static_cast<double>(time);
}

std::vector<msg::Sample> HostConditions::run_finished(SteadyTime now) {
    if (!start_) return {};  // it was never started
    const auto end = read(now);
    Result<double> load = end.load, throttled = 0;
    if (!start_->load) load = pass(start_->load);
    if (load) *load = std::min(*load, *start_->load);
    if (!end.throttled || !start_->throttled) {
        throttled = pass(end.throttled ? start_->throttled : end.throttled);
    } else {
        // A CPU that went off in the run takes its count along.
        throttled = static_cast<double>(std::max<std::int64_t>(0, *end.throttled - *start_->throttled));
    }
    std::vector<msg::Sample> all{condition("steal", steal(end)), condition("run-delay", run_delay(end)),
                                 condition("host-load", load), condition("throttled", throttled)};
    start_.reset();
    // What lies before the window of any later run.
    while (past_.size() > 1 && past_[1].at <= now - least_window) past_.pop_front();
    return all;
}

}  // namespace kab::qemu
