#include "tests/fuzz/odd_report.h"

#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <vector>

#include "daemon/stats/random.h"
#include "tests/support/database/sample_database.h"

namespace kab::test {
namespace {

using report::ReportInput;
using stats::SplitMix;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

ReportInput rows_of(const SampleOptions& options) {
    const SampleDatabase sample(options);
    auto rows = report::gather(*sample.store, sample_evaluation());
    if (!rows) throw std::runtime_error(rows.error().text());
    return std::move(*rows);
}

/// What the store gives for evaluations of several fates; made once.
const std::vector<ReportInput>& sane_reports() {
    static const std::vector<ReportInput> all = [] {
        std::vector<SampleOptions> options(6);
        options[1].swept = true;
        options[2].crashing_arm = "deferred-free";
        options[2].profile_iterations = 2;
        options[3].crashing_arm = "per-ns-work";
        options[3].stopped = true;
        options[3].interrupted_block = false;
        options[4].hardware_counters = true;
        options[4].emulated = false;
        options[4].same_code = true;
        options[4].blocks = 16;
        options[4].profile_iterations = 1;
        options[5].failing_build = "per-ns-work";
        std::vector<ReportInput> made;
        made.reserve(options.size());
        for (const auto& one : options) made.push_back(rows_of(one));
        return made;
    }();
    return all;
}

template <class Rows, class Gone>
void drop(Rows& rows, const Gone& gone) {
    std::erase_if(rows, gone);
}

/// One of `count`.
bool one_in(SplitMix& random, std::uint64_t count) {
    return random.below(count) == 0;
}

void keep_blocks(ReportInput& rows, std::int64_t last) {
    std::set<std::int64_t> kept;
    for (const auto& block : rows.tree.blocks)
        if (block.number <= last) kept.insert(block.id);
    drop(rows.tree.blocks, [&](const auto& block) { return block.number > last; });
    drop(rows.tree.boots, [&](const auto& boot) { return !kept.contains(boot.block_id); });
    drop(rows.boots, [&](const auto& boot) { return boot.block > last; });
    drop(rows.samples, [&](const auto& sample) { return sample.block > last; });
    drop(rows.profile, [&](const auto& row) { return row.block > last; });
    drop(rows.console, [&](const auto& event) { return event.block > last; });
}

/// Single values, boots, points and whole metrics of an arm.
void lose_cells(ReportInput& rows, SplitMix& random) {
    const std::uint64_t seed = random.next();
    const auto lost = [&](const std::string& what, std::uint64_t per) {
        return SplitMix(seed ^ std::hash<std::string>{}(what)).below(per) == 0;
    };
    drop(rows.samples, [&](const auto& s) {
        const auto boot = fmt::format("{}/{}", s.arm, s.block);
        return lost(boot, 8) || lost(s.arm + s.metric, 20) || lost(boot + s.point, 20) ||
               lost(fmt::format("{}/{}/{}/{}", boot, s.point, s.seq, s.metric), 20);
    });
}

double odd_value(SplitMix& random) {
    const double special[] = {not_a_number, infinity, -infinity, 0,      -0.0,
                              -1,           1e308,    -1e308,    5e-324, std::exp(40 * (random.uniform() - 0.5))};
    return special[random.below(std::size(special))];
}

/// Every metric has its own kind of data.
void change_values(ReportInput& rows, SplitMix& random) {
    std::map<std::string, std::pair<std::uint64_t, double>> kinds;
    for (auto& sample : rows.samples) {
        auto [found, fresh] = kinds.try_emplace(sample.metric);
        if (fresh) found->second = {random.below(12), odd_value(random)};
        const auto [kind, constant] = found->second;
        if (!sample.value) continue;
        if (kind == 0) sample.value = constant;
        if (kind == 1) sample.value = odd_value(random);
        if (kind == 2 && one_in(random, 30)) sample.value = odd_value(random);
        if (kind == 3) *sample.value *= std::exp(200 * (random.uniform() - 0.5));
        if (kind == 4) sample.value = static_cast<double>(random.below(3));
        if (kind == 5) *sample.value *= -1;
        if (kind == 6) sample.value = sample.arm == "deferred-free" ? 1e300 : 1e-300;
        if (kind == 7) *sample.value = 1e-6 * std::round(*sample.value / 1e8);
        if (kind == 8 && one_in(random, 20)) sample.value.reset();
    }
    if (one_in(random, 6))
        for (auto& sample : rows.samples) sample.running_ns = static_cast<std::int64_t>(random.below(2));
}

/// Shares are from 0 to 1 in the store, whatever else.
void change_profile(ReportInput& rows, SplitMix& random) {
    const double special[] = {0, 1, 5e-324, 1e-3, random.uniform()};
    const std::uint64_t kind = random.below(4);
    for (auto& row : rows.profile) {
        if (kind == 0 || one_in(random, 10)) row.share = special[random.below(std::size(special))];
        if (kind == 1) row.share = 1;
        if (one_in(random, 40)) row.symbol = std::string(200, 's');
        if (one_in(random, 40)) row.caller = one_in(random, 2) ? std::string(200, 'c') : "";
        if (one_in(random, 40)) row.arm = "an arm that is none";
    }
    drop(rows.profile, [&](const auto&) { return one_in(random, kind == 2 ? 2 : 20); });
}

void change_metrics(ReportInput& rows, SplitMix& random) {
    static const char* const units[] = {"ns", "1", "bytes", "", "things a second, per CPU and node of the machine"};
    for (auto& metric : rows.tree.metrics) {
        if (one_in(random, 4)) metric.scale = one_in(random, 2) ? "linear" : "log";
        if (one_in(random, 6)) metric.better = one_in(random, 2) ? "higher" : "neither";
        if (one_in(random, 6)) metric.unit = units[random.below(std::size(units))];
    }
}

void change_design(ReportInput& rows, SplitMix& random) {
    auto experiment = parse_json(rows.tree.evaluation.experiment_json);
    if (!experiment) throw std::runtime_error(experiment.error().text());
    auto& decide = experiment->at("decide");
    const std::vector<std::vector<int>> looks{{6, 10, 16, 24, 32}, {2, 3, 4, 6}, {1}, {5}, {1, 2, 3}, {3, 16}};
    decide["looks"] = looks[random.below(looks.size())];
    if (one_in(random, 4)) decide["fixed"] = random.below(8) + 1;
    decide["margin"] = one_in(random, 3) ? 0 : one_in(random, 4) ? 1e9 * random.uniform() : 0.1 * random.uniform();
    decide["alpha"] = one_in(random, 4) ? 1e-9 : one_in(random, 4) ? 0.5 : 0.05;
    if (one_in(random, 4)) {
        const auto& metric = rows.tree.metrics[random.below(rows.tree.metrics.size())];
        decide["primary"] = metric.workload + "/" + metric.name;
    }
    rows.tree.evaluation.experiment_json = dump_json(*experiment);
    rows.tree.evaluation.looks_done = static_cast<std::int64_t>(random.below(6));
    static const char* const states[] = {"done", "running", "failed", "cancelled"};
    rows.tree.evaluation.status = states[random.below(std::size(states))];
}

void rename(ReportInput& rows, const std::string& from, const std::string& to) {
    const auto change = [&](std::string& name) {
        if (name == from) name = to;
    };
    for (auto& arm : rows.tree.arms) {
        change(arm.name);
        change(arm.against);
    }
    for (auto& boot : rows.tree.boots) change(boot.arm);
    for (auto& boot : rows.boots) change(boot.arm);
    for (auto& sample : rows.samples) change(sample.arm);
    for (auto& row : rows.profile) change(row.arm);
    for (auto& event : rows.console) change(event.arm);
}

void change_texts(ReportInput& rows, SplitMix& random) {
    if (one_in(random, 3)) rename(rows, "deferred-free", "d" + std::string(39, 'x'));
    if (one_in(random, 3)) rename(rows, "inline-free", "v6.1.158-rc1_with.every-letter_allowed40");
    if (one_in(random, 4)) rows.tree.evaluation.experiment = std::string(100, 'e');
    if (one_in(random, 4)) rows.tree.evaluation.question = "Größer als\t| zwei?\n" + std::string(300, '?');
    if (one_in(random, 4)) rows.tree.evaluation.detail = std::string(200, 'w') + " and\nmore";
    for (auto& arm : rows.tree.arms) {
        if (one_in(random, 8)) arm.detail = "ipc/" + std::string(150, 'f') + ".c:1:2: error\nsecond line";
        if (one_in(random, 10)) arm.status = one_in(random, 2) ? "stopped" : "failed";
    }
    for (auto& boot : rows.boots) {
        if (one_in(random, 20)) boot.environment = one_in(random, 2) ? "no json" : R"({"cpus":null,"cpu_model":7})";
        if (one_in(random, 20)) boot.accel = "kvm";
        if (one_in(random, 20)) boot.hello_ns = boot.work_ns = 0;
        if (one_in(random, 20)) boot.work_ns = std::numeric_limits<std::int64_t>::max();
        if (one_in(random, 20)) boot.outcome = one_in(random, 2) ? "hang" : "infra-error";
    }
}

}  // namespace

ReportInput odd_report(std::uint64_t seed) {
    SplitMix random(stats::derive_seed(seed, 0, 0));
    ReportInput rows = sane_reports()[random.below(sane_reports().size())];
    if (one_in(random, 3)) keep_blocks(rows, static_cast<std::int64_t>(random.below(4)));
    if (one_in(random, 2)) lose_cells(rows, random);
    if (!one_in(random, 4)) change_values(rows, random);
    if (one_in(random, 2)) change_profile(rows, random);
    if (one_in(random, 2)) change_metrics(rows, random);
    if (one_in(random, 2)) change_design(rows, random);
    if (one_in(random, 2)) change_texts(rows, random);
    if (one_in(random, 20)) rows.samples.clear();
    return rows;
}

ReportInput large_report(std::size_t samples) {
    ReportInput rows = sane_reports()[1];
    const auto once = rows.samples;
    rows.samples.reserve(samples + once.size());
    for (std::int64_t round = 1; rows.samples.size() < samples; ++round)
        for (auto sample : once) {
            sample.iteration += round * 100;
            if (sample.value) *sample.value *= 1 + 1e-3 * std::sin(static_cast<double>(round));
            rows.samples.push_back(std::move(sample));
        }
    return rows;
}

}  // namespace kab::test
