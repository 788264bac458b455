// The figures of an analysis on the data of stats_vs_r.py, timed; and how long a million samples and the exact tied
// Mann-Whitney test take. Called by stats_vs_r.py.
// usage: stats_vs_r DATA OUT | stats_vs_r --words DATA | stats_vs_r --others
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "daemon/stats/analysis.h"
#include "daemon/stats/figures.h"
#include "daemon/stats/mann_whitney.h"
#include "daemon/stats/random.h"

namespace kab::stats {
namespace {

struct Took {
    double wall = 0, cpu = 0;  ///< seconds
};

template <class Work>
Took timed(const Work& work) {
    const auto cpu = [] {
        timespec now{};
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
    };
    const double cpu_before = cpu();
    const auto before = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - before;
    return {wall.count(), cpu() - cpu_before};
}

struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

/// Doubles: arms, points, metrics, blocks, iterations; failed boots and all boots of each arm; then the values, the
/// iteration running fastest, then point, metric, arm, block. The last arm is the control.
struct Data {
    std::vector<double> numbers;
    std::size_t at = 0;

    bool read(const char* path) {
        const File file(std::fopen(path, "rb"));
        if (!file || std::fseek(file.get(), 0, SEEK_END) != 0) return false;
        const long size = std::ftell(file.get());
        if (size < 0 || std::fseek(file.get(), 0, SEEK_SET) != 0) return false;
        numbers.resize(static_cast<std::size_t>(size) / sizeof(double));
        return std::fread(numbers.data(), sizeof(double), numbers.size(), file.get()) == numbers.size() &&
               numbers.size() > 5;
    }
    double next() { return numbers.at(at++); }
    int count() { return static_cast<int>(next()); }
};

void add_observations(Input& input, int blocks, int iterations, Data& data) {
    const auto arms = static_cast<int>(input.arms.size()), series = static_cast<int>(input.series.size());
    input.observations.reserve(data.numbers.size());
    for (int b = 1; b <= blocks; ++b)
        for (int a = 0; a < arms; ++a)
            for (int s = 0; s < series; ++s)
                for (int i = 0; i < iterations; ++i) input.observations.push_back({b, a, s, i, data.next()});
}

Input read_input(Data& data) {
    Input input;
    input.design.looks = {6, 10, 16, 24, 32};
    input.look = 4;
    const int arms = data.count(), points = data.count(), metrics = data.count(), blocks = data.count();
    const int iterations = data.count();
    for (int a = 0; a < arms; ++a)
        input.arms.push_back({"arm" + std::to_string(a), a == 0 ? -1 : 0, a == arms - 1, 0, data.count()});
    for (auto& arm : input.arms) arm.boots = data.count();
    for (int m = 0; m < metrics; ++m)
        for (int p = 0; p < points; ++p)
            input.series.push_back(
                {"w", "p=" + std::to_string(p), "m" + std::to_string(m), "ns", Better::lower, Scale::log, m == 0});
    add_observations(input, blocks, iterations, data);
    return input;
}

using Text = fmt::memory_buffer;

/// Numbers as short as they can be read back from to the last bit.
void put(Text& out, std::optional<double> value) {
    if (value)
        fmt::format_to(std::back_inserter(out), " {}", *value);
    else
        out.append(std::string_view(" -"));
}

void put_text(Text& out, const Output& output) {
    const auto to = std::back_inserter(out);
    for (const auto& c : output.comparisons) {
        const Estimate none, e = c.estimate.value_or(none), r = c.rank_estimate.value_or(none);
        fmt::format_to(to, "comparison {} {} {} {}", c.arm, c.metric.substr(1), c.series, c.n);
        for (const double value : {e.value, e.low, e.high, c.sd, c.t, c.df}) put(out, value);
        for (const auto& value : {c.p, c.p_sequential, c.p_adjusted, c.p_rank}) put(out, value);
        for (const double value : {r.value, r.low, r.high, r.level}) put(out, value);
        put(out, c.p_equivalence);
        put(out, c.detectable);
        out.push_back('\n');
    }
    for (const auto& c : output.components) {
        fmt::format_to(to, "component {}", c.series);
        for (const auto& value : {c.block, c.boot, c.iteration, c.trend}) put(out, value);
        out.push_back('\n');
    }
    for (const auto& s : output.summaries)
        fmt::format_to(to, "summary {} {} {} {} {} {}\n", s.arm, s.series, s.mean, s.relative_sd.value_or(0), s.min,
                       s.max);
    for (const auto& f : output.failures) fmt::format_to(to, "failure {} {}\n", f.arm, f.p.value_or(-1));
}

int no_data(const char* path) {
    fmt::print(stderr, "stats_vs_r: {}: no data\n", path);
    return 1;
}

int analyse_file(const char* data_path, const char* out_path) {
    Data data;
    if (!data.read(data_path)) return no_data(data_path);
    const Input input = read_input(data);
    Output output;
    const Took took = timed([&] { output = figures(input); });
    const Took again = timed([&] { (void)figures(input); });
    Text text;
    put_text(text, output);
    fmt::format_to(std::back_inserter(text), "time {} {} {} {}\n", took.wall, took.cpu, again.wall, again.cpu);
    std::FILE* const out = std::fopen(out_path, "wb");
    const bool written = out != nullptr && std::fwrite(text.data(), 1, text.size(), out) == text.size();
    if (out == nullptr || std::fclose(out) != 0 || !written) {
        fmt::print(stderr, "stats_vs_r: {}: cannot be written\n", out_path);
        return 1;
    }
    return 0;
}

/// First in the process, as everything else.
int print_with_words(const char* data_path) {
    Data data;
    if (!data.read(data_path)) return no_data(data_path);
    const Input input = read_input(data);
    const Took took = timed([&] { (void)analyse(input); });
    fmt::print("{} {}\n", took.wall, took.cpu);
    return 0;
}

/// About a million samples, at the last look, of two arms or of four over a sweep.
Input million(bool paired, int arms, int series, int blocks, int iterations) {
    Input input;
    input.design.paired = paired;
    input.arms.push_back({"base", -1, false, 0, 0});
    for (int a = 1; a < arms; ++a) input.arms.push_back({"arm" + std::to_string(a), 0, a == 3, 0, 0});
    for (int s = 0; s < series; ++s)
        input.series.push_back({"w", series == 1 ? "" : "p=" + std::to_string(s % 20), "m" + std::to_string(s / 20),
                                "ns", Better::lower, Scale::log, s < 20});
    SplitMix random(1);
    for (int b = 1; b <= blocks; ++b)
        for (int a = 0; a < arms; ++a)
            for (int s = 0; s < series; ++s)
                for (int i = 0; i < iterations; ++i) input.observations.push_back({b, a, s, i, 100 + random.uniform()});
    return input;
}

void print_million(const char* name, const Input& input) {
    std::vector<double> wall, cpu;
    for (int i = 0; i < 5; ++i) {
        const Took took = timed([&] { (void)analyse(input); });
        wall.push_back(took.wall);
        cpu.push_back(took.cpu);
    }
    std::sort(wall.begin(), wall.end());
    std::sort(cpu.begin(), cpu.end());
    fmt::print("{}|{}|{:.6f}|{:.6f}\n", name, input.observations.size(), wall[2], cpu[2]);
}

/// Fresh data every time, the median over 101.
void print_mann_whitney() {
    std::vector<double> wall, cpu;
    SplitMix random(1);
    for (int repeat = 0; repeat < 101; ++repeat) {
        std::vector<double> x, y;
        for (int i = 0; i < exact_mann_whitney_side; ++i) {
            x.push_back(static_cast<double>(random.below(60)));
            y.push_back(static_cast<double>(random.below(60)));
        }
        MannWhitney result;
        const Took took = timed([&] { result = mann_whitney(x, y); });
        if (!result.exact || !result.tied) continue;
        wall.push_back(took.wall);
        cpu.push_back(took.cpu);
    }
    std::sort(wall.begin(), wall.end());
    std::sort(cpu.begin(), cpu.end());
    fmt::print("exact tied Mann-Whitney, 50 a side|100|{:.6f}|{:.6f}\n", wall.at(wall.size() / 2),
               cpu.at(cpu.size() / 2));
}

}  // namespace
}  // namespace kab::stats

int main(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (arguments.size() == 2 && arguments[0] == "--words") return kab::stats::print_with_words(argv[2]);
    if (arguments.size() == 2) return kab::stats::analyse_file(argv[1], argv[2]);
    if (arguments != std::vector<std::string>{"--others"}) {
        fmt::print(stderr, "usage: stats_vs_r DATA OUT | stats_vs_r --words DATA | stats_vs_r --others\n");
        return 2;
    }
    kab::stats::print_million("four arms, 20 points, 6 metrics", kab::stats::million(true, 4, 120, 32, 65));
    kab::stats::print_million("two arms in 100,000 blocks", kab::stats::million(true, 2, 1, 100000, 5));
    kab::stats::print_million("two columns of 500,000", kab::stats::million(false, 2, 1, 500000, 1));
    kab::stats::print_mann_whitney();
    return 0;
}
