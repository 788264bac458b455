// Google Benchmark, --benchmark_format=json (or --benchmark_out_format=json): one entry a repetition.
#include <set>

#include "daemon/results/reader.h"

namespace kab::results {
namespace {

/// Numbers that describe the run and measure nothing.
const std::set<std::string> bookkeeping{
    "family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads", "iterations"};

class GoogleBenchmark {
  public:
    explicit GoogleBenchmark(const std::string& name) : name_(name) {}

    Result<Results> read(const Json& document) {
        const auto& all = document.at("benchmarks");
        if (!all.is_array() || all.empty())
            return wrong_at(name_, "benchmarks", "expected a list with an entry for each repetition");
        for (std::size_t i = 0; i < all.size(); ++i)
            if (const auto done = read_entry(all[i], fmt::format("benchmarks[{}]", i)); !done) return pass(done);
        if (used_ == 0)
            return wrong_at(name_, "benchmarks",
                            "only aggregates: run with --benchmark_repetitions=10 and without "
                            "--benchmark_report_aggregates_only");
        if (const auto context = document.find("context"); context != document.end()) warn(*context);
        return collector_.finish();
    }

  private:
    void warn(const Json& context) {
        if (json_get_or<std::string>(context, "library_build_type", "").value_or("") == "debug")
            collector_.note("the benchmark library was built for debugging: its times may be off");
        if (json_get_or<bool>(context, "cpu_scaling_enabled", false).value_or(false))
            collector_.note("CPU frequency scaling was on while these were measured");
    }

    Status read_entry(const Json& entry, const std::string& path) {
        const auto name = json_get<std::string>(entry, "name");
        if (!name) return wrong_at(name_, path, "{}: expected a text", name.error().message);
        if (json_get_or<std::string>(entry, "run_type", "iteration").value_or("") == "aggregate") {
            collector_.skip("aggregates (mean, median, ...): they are computed anew");
            return {};
        }
        ++used_;
        const auto workload = json_get_or<std::string>(entry, "run_name", *name).value_or(*name);
        if (json_get_or<bool>(entry, "error_occurred", false).value_or(false)) {
            collector_.absent(workload, 0, json_get_or<std::string>(entry, "error_message", "").value_or("an error"));
            collector_.run(0, true);
            return {};
        }
        collector_.run(0, false);
        const auto unit = json_get<std::string>(entry, "time_unit");
        if (!unit) return wrong_at(name_, path, "{}: expected ns, us, ms or s", unit.error().message);
        for (const char* time : {"real_time", "cpu_time"})
            if (const auto done = add(entry, path, workload, time, *unit, Better::lower); !done) return done;
        return add_counters(entry, path, workload);
    }

    Status add_counters(const Json& entry, const std::string& path, const std::string& workload) {
        for (const auto& [key, value] : entry.items()) {
            if (!value.is_number() || bookkeeping.contains(key) || key == "real_time" || key == "cpu_time") continue;
            const bool rate = key == "items_per_second" || key == "bytes_per_second";
            const std::string unit = key == "items_per_second" ? "items/s" : key == "bytes_per_second" ? "B/s" : "";
            const auto better = rate ? std::optional(Better::higher) : std::nullopt;
            if (const auto done = add(entry, path, workload, key, unit, better); !done) return done;
        }
        return {};
    }

    Status add(const Json& entry, const std::string& path, const std::string& workload, const std::string& key,
               const std::string& unit, std::optional<Better> better) {
        const auto value = json_get<double>(entry, key.c_str());
        if (!value) return wrong_at(name_, path, "{}: expected a number", value.error().message);
        const auto metric = collector_.metric(workload, key, unit, better);
        if (collector_.at(metric).unit != unit)
            return wrong_at(name_, path + ".time_unit", "'{}' here, but '{}' in an earlier repetition of {}", unit,
                            collector_.at(metric).unit, workload);
        collector_.add(metric, 0, std::nullopt, std::nullopt, *value);
        return {};
    }

    const std::string& name_;
    Collector collector_{Format::google_benchmark};
    int used_ = 0;
};

}  // namespace

Result<Results> read_google_benchmark(const Json& document, const std::string& name) {
    if (!document.is_object() || !document.contains("benchmarks"))
        return wrong_at(name, "", "there is no 'benchmarks': this is not what --benchmark_format=json writes");
    return GoogleBenchmark(name).read(document);
}

}  // namespace kab::results
