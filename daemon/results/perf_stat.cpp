// perf stat -x, (perf-stat(1), "CSV FORMAT"): value,unit,event[,variance],run time,share of it[,metric,unit of metric].
// Runs follow each other, as `perf stat -x, -o FILE --append` writes them. Of -r there is only the mean of its runs.
#include <algorithm>
#include <cstddef>

#include "daemon/results/reader.h"

namespace kab::results {
namespace {

class PerfStat {
  public:
    PerfStat(std::string_view text, const std::string& name) : text_(text), name_(name) {}

    Result<Results> read() {
        for (const auto& line : lines_of(text_)) {
            const auto text = trimmed(line.text);
            if (text.empty() || text.starts_with('#')) continue;
            if (const auto done = read_line(line.number, split(text, ',')); !done) return pass(done);
        }
        if (lines_ == 0) return wrong_at(name_, "", "there is no line such as 12.5,msec,task-clock,12500000,100.00,,");
        if (means_ > 0)
            collector_.note(
                "perf stat -r keeps only the mean of its runs: each counts as one value. For the runs themselves call "
                "perf stat -x, -o FILE --append in a loop");
        if (metrics_ > 0) collector_.note("not used: what perf derives from two counters, such as CPUs utilized");
        if (scaled_ > 0)
            collector_.note(
                fmt::format("{} counts are scaled up by perf, as counters took turns: count fewer events", scaled_));
        return collector_.finish();
    }

  private:
    using Fields = std::vector<std::string_view>;

    static bool counted(std::string_view text) { return number(text) || text.starts_with('<'); }

    /// Of the shapes that are no whole runs of the whole machine or program.
    Status check_shape(int line, const Fields& fields) const {
        if (fields.size() > 3 && number(fields[0]) && counted(fields[1]))
            return wrong(
                name_, line,
                "these are intervals of one run (perf stat -I), which are no runs of their own: call perf stat "
                "without -I once a run, with -o FILE --append");
        const bool aggregated = fields.size() > 3 && !counted(fields[0]) && !fields[0].empty();
        if (aggregated && (counted(fields[1]) || counted(fields[2])))
            return wrong(
                name_, line,
                "'{}' is a part of the machine (perf stat -A, --per-socket, ...): leave that out, so that there "
                "is one count an event",
                fields[0]);
        if (fields.size() < 3 || (!counted(fields[0]) && !fields[0].empty()))
            return wrong(name_, line, "expected value,unit,event,..., as perf stat -x, writes");
        return {};
    }

    /// Names such as cpu/event=0x3c,umask=1/ have commas of their own: the fields from the third on that belong to it.
    static std::size_t event_fields(const Fields& fields) {
        std::ptrdiff_t slashes = 0;
        for (std::size_t i = 2; i < fields.size(); ++i) {
            slashes += std::count(fields[i].begin(), fields[i].end(), '/');
            if (slashes % 2 == 0) return i - 1;
        }
        return 1;
    }

    Status read_line(int line, const Fields& fields) {
        if (const auto good = check_shape(line, fields); !good) return good;
        ++lines_;
        if (fields[0].empty()) {  // the second metric of the line above
            ++metrics_;
            return {};
        }
        const std::size_t parts = event_fields(fields);
        std::string event(fields[2]);
        for (std::size_t i = 3; i < 2 + parts; ++i) event += "," + std::string(fields[i]);
        const std::string unit(fields[1]);
        if (event.empty()) return wrong(name_, line, "there is no name of an event after '{},{}'", fields[0], unit);
        const auto metric = collector_.metric("", event, unit, Better::lower);
        std::size_t after = 2 + parts;
        const bool mean = fields.size() > after && fields[after].ends_with('%');
        means_ += mean ? 1 : 0;
        after += mean ? 1 : 0;
        if (fields.size() > after + 2 && number(fields[after + 2])) ++metrics_;
        if (fields[0].starts_with('<')) {
            std::string reason(fields[0].substr(1));
            if (reason.ends_with('>')) reason.pop_back();
            collector_.absent(event, 0, reason);
            return {};
        }
        const auto share = fields.size() > after + 1 ? number(fields[after + 1]) : std::nullopt;
        if (share && *share < 100) ++scaled_;
        collector_.add(metric, 0, std::nullopt, std::nullopt, *number(fields[0]));
        return {};
    }

    std::string_view text_;
    const std::string& name_;
    Collector collector_{Format::perf_stat};
    int lines_ = 0, means_ = 0, metrics_ = 0, scaled_ = 0;
};

}  // namespace

Result<Results> read_perf_stat(std::string_view text, const std::string& name) {
    return PerfStat(text, name).read();
}

}  // namespace kab::results
