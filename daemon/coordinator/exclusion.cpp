#include "daemon/coordinator/exclusion.h"

#include <algorithm>

namespace kab {
namespace {

using store::ConditionRow;

bool counts(const ConditionRow& row) {
    return row.value && !row.warmup && row.kind != "check";
}

/// The greatest of one condition among the runs that count.
const ConditionRow* worst(const std::vector<ConditionRow>& rows, std::string_view name) {
    const ConditionRow* found = nullptr;
    for (const auto& row : rows)
        if (row.name == name && counts(row) && (found == nullptr || *row.value > *found->value)) found = &row;
    return found;
}

std::string run_of(const ConditionRow& row) {
    return fmt::format("run {} of {}", row.seq, row.arm);
}

/// A share may come just above its bound: both are shown with digits enough to differ.
std::string percent(double share) {
    return fmt::format("{:.3g}%", 100 * share);
}

std::optional<core::Exclusion> throttled(const std::vector<ConditionRow>& rows, bool declared) {
    const auto* row = worst(rows, "throttled");
    if (!declared || row == nullptr || *row->value <= 0) return std::nullopt;
    return core::Exclusion{"throttled",
                           fmt::format("throttled: {} times a CPU of the host in {}", *row->value, run_of(*row))};
}

std::optional<core::Exclusion> above(const std::vector<ConditionRow>& rows, const char* name,
                                     const std::optional<double>& bound, const char* what,
                                     std::string (*shown)(double)) {
    const auto* row = bound ? worst(rows, name) : nullptr;
    if (row == nullptr || *row->value <= *bound) return std::nullopt;
    return core::Exclusion{name, fmt::format("{} was {}{} in {}, more than {}", name, shown(*row->value), what,
                                             run_of(*row), shown(*bound))};
}

std::optional<core::Exclusion> slow_canary(const std::vector<ConditionRow>& rows, const std::optional<double>& bound) {
    const auto* slowest = bound ? worst(rows, "canary") : nullptr;
    if (slowest == nullptr || !(*slowest->value > 0)) return std::nullopt;
    // Warm-ups run the very same loop, so theirs may well be the fastest.
    double fastest = *slowest->value;
    for (const auto& row : rows)
        if (row.name == "canary" && row.value && *row.value > 0) fastest = std::min(fastest, *row.value);
    if (*slowest->value <= (1 + *bound) * fastest) return std::nullopt;
    return core::Exclusion{
        "canary",
        fmt::format("canary was {:.3f} ms in {}, {} slower than the block's fastest ({:.3f} ms), more than {}",
                    *slowest->value / 1e6, run_of(*slowest), percent(*slowest->value / fastest - 1), fastest / 1e6,
                    percent(*bound))};
}

}  // namespace

bool declares(const Exclude& exclude) {
    return exclude.host_load || exclude.steal || exclude.run_delay || exclude.canary || exclude.throttled;
}

std::optional<core::Exclusion> judge_block(const std::vector<ConditionRow>& rows, const Exclude& exclude) {
    const auto plain = [](double value) { return fmt::format("{:.3g}", value); };
    if (auto found = throttled(rows, exclude.throttled)) return found;
    if (auto found = above(rows, "steal", exclude.steal, " of the host's CPU time", percent)) return found;
    if (auto found = above(rows, "run-delay", exclude.run_delay, " of the virtual CPUs' time", percent)) return found;
    if (auto found = above(rows, "host-load", exclude.host_load, " tasks of others per CPU", plain)) return found;
    return slow_canary(rows, exclude.canary);
}

}  // namespace kab
