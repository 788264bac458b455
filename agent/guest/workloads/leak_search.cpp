#include "agent/guest/workloads/leak_search.h"

#include <fmt/format.h>

#include <vector>

#include "agent/guest/text.h"
#include "common/files.h"

namespace kab::guest {

namespace {

/// Whether between the newest figure and one of at least so many batches before it, a batch took less than `least`.
bool is_steady(const std::vector<std::int64_t>& used, std::int64_t least) {
    for (std::size_t first = 0; first + steady_batches < used.size(); ++first)
        if (used.back() - used[first] < static_cast<std::int64_t>(used.size() - 1 - first) * least) return true;
    return false;
}

}  // namespace

Status expect_no_leak(const LeakSearch& search) {
    std::vector<std::int64_t> used;
    for (int batch = 1; batch <= most_batches; ++batch) {
        if (batch > 1)
            if (auto done = search.carry_out(); !done) return done;
        const auto now = search.measure();
        if (!now) return pass(now);
        used.push_back(*now);
        if (is_steady(used, search.least_leak_bytes)) return {};
    }
    return fail(Fault::io,
                "each {} leaves memory behind: {} of them took {} bytes ({}; in all: {}), expected less than {} each",
                search.batch_name, most_batches - 1, used.back() - used.front(), search.measure_name,
                fmt::join(used, ", "), search.least_leak_bytes);
}

Result<std::int64_t> kernel_objects() {
    auto text = read_file("/proc/meminfo");
    if (!text) return pass(text);
    auto value = field(*text, "SUnreclaim");
    if (const auto unit = value.find(' '); unit != std::string_view::npos) value = value.substr(0, unit);
    const auto kib = parse_integer(value);
    if (!kib) return fail(Fault::io, "/proc/meminfo says nothing of SUnreclaim");
    return *kib * 1024;
}

}  // namespace kab::guest
