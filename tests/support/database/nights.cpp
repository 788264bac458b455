#include "tests/support/database/nights.h"

#include <fmt/format.h>

#include <stdexcept>

#include "common/json.h"

namespace kab::test {
namespace {

using store::Writer;

constexpr std::int64_t second = 1000000000;
constexpr std::int64_t start_at = 1767225600 * second;  // 2026-01-01T00:00:00Z
constexpr const char* workload = "ipcns-exit";

void must(const Status& status) {
    if (!status) throw std::runtime_error(status.error().text());
}

/// A night's own clock, a second a step.
class Filler {
  public:
    Filler(Writer& writer, const Night& night) : writer_(writer), night_(night) {}

    void everything() {
        must(writer_.set_host({"local", "local", "qemu", "up", "{}", tick()}));
        must(writer_.add_evaluation(evaluation(), tick()));
        must(writer_.set_evaluation(uid_, "queued", "building", "", tick()));
        for (const auto& [name, kernel] : arms()) {
            const auto row = kernel_row(kernel);
            must(writer_.set_arm_kernel(uid_, name, row));
            must(writer_.set_kernel_built(row, tick()));
        }
        must(writer_.set_evaluation(uid_, "building", "running", "", tick()));
        block();
        if (night_.look) look();
        must(writer_.set_evaluation(uid_, "running", night_.status, night_.detail, tick()));
    }

  private:
    std::int64_t tick() { return at_ += second; }

    std::vector<std::pair<std::string, std::string>> arms() const {
        return {{night_.base_name, night_.base}, {night_.arm_name, night_.arm}};
    }

    std::string metric() const { return night_.group.empty() ? "elapsed" : "share:" + night_.group; }

    store::NewEvaluation evaluation() const {
        store::NewEvaluation e;
        e.uid = uid_;
        e.experiment = night_.experiment;
        e.spec_text = e.plan_text = "-";
        e.spec_hash = e.plan_hash = std::string(64, 'a');
        Json arms_json = Json::array();
        for (const auto& [name, kernel] : arms()) {
            arms_json.push_back({{"name", name}, {"command_line", night_.command_line}});
            e.arms.push_back({name, name == night_.base_name ? "" : night_.base_name, false, "measured", "{}"});
        }
        Json experiment =
            Json{{"experiment", night_.experiment},
                 {"arms", arms_json},
                 {"workloads",
                  {{{"workload", workload},
                    {"with", {{"children", night_.children}, {"concurrency", 0}}},
                    {"sweep", Json::object()},
                    {"iterations", 5},
                    {"warmup", 1},
                    {"counters", Json::array()},
                    {"counter_iterations", 0}}}},
                 {"host",
                  {{"kind", "qemu"}, {"cpus", 2}, {"memory_bytes", 536870912}, {"accel", "auto"}, {"machine", "auto"}}},
                 {"decide",
                  {{"primary", "ipcns-exit/elapsed"},
                   {"margin", 0.02},
                   {"alpha", 0.05},
                   {"looks", {6, 10}},
                   {"control", true}}}};
        if (!night_.score.empty()) experiment["workloads"][0]["score"] = night_.score;
        if (!night_.group.empty()) {
            Json group{{"name", night_.group}, {"symbols", {"*lock"}}, {"callers", Json::array()}};
            if (!night_.group_of.empty()) group["of"] = night_.group_of;
            experiment["workloads"][0]["profile"] = {
                {"frequency", 997}, {"iterations", 1}, {"groups", Json::array({group})}};
            experiment["decide"]["primary"] = std::string(workload) + "/" + metric();
        }
        if (night_.exact)
            experiment["host"].update({{"exact", true}, {"vary_timer", true}, {"vary_layout", night_.vary_layout}});
        e.experiment_json = dump_json(experiment);
        e.seed = 1;
        e.points.push_back({workload, 0, "", dump_json(Json{{"children", night_.children}, {"concurrency", 0}})});
        e.metrics.push_back({workload, metric(), "ns", "lower", night_.linear ? "linear" : "log"});
        return e;
    }

    static store::KernelRow kernel_row(const std::string& name) {
        store::KernelRow row;
        std::uint64_t hash = 1469598103934665603ULL;  // FNV-1a
        for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
        row.key = fmt::format("{:016x}{:048}", hash, 0);
        row.image_hash = row.code_signature = row.key;
        row.release = "6.1.158";
        row.path = "/var/cache/kab/kernels/" + name + "/vmlinux";
        row.format = "vmlinux";
        return row;
    }

    void block() {
        must(writer_.add_block(uid_, 1, 1, tick()));
        int position = 0;
        for (const auto& [name, kernel] : arms()) {
            const auto boot = own_uid();
            const auto attempt = own_uid();
            must(writer_.add_boot(uid_, 1, 1, name, ++position, boot, tick()));
            must(writer_.set_boot(boot, "pending", "running", "", "", tick()));
            must(writer_.add_attempt(boot, attempt, 1, "local", tick()));
            must(writer_.set_attempt_hello(attempt, {R"({"cpu_model":"Example CPU @ 2.40GHz","clocksource":"tsc"})",
                                                     night_.accel, "", "microvm", night_.emulator, "virtio"}));
            store::AttemptEnd end;
            end.outcome = "ok";
            must(writer_.finish_attempt(attempt, end, {}, tick()));
            must(writer_.accept_attempt(boot, attempt));
            must(writer_.set_boot(boot, "running", "done", "ok", "", tick()));
        }
        must(writer_.set_block(uid_, 1, 1, "running", "complete", "", "", tick()));
    }

    void look() {
        store::ComparisonRow row;
        row.n = 10;
        row.arm = night_.arm_name;
        row.against = night_.base_name;
        row.workload = workload;
        row.metric = metric();
        row.primary = true;
        row.estimate = night_.ratio;
        row.low = night_.linear ? night_.ratio - night_.half_width : night_.ratio * (1 - night_.half_width);
        row.high = night_.linear ? night_.ratio + night_.half_width : night_.ratio * (1 + night_.half_width);
        row.level = 0.95;
        row.p = 0.01;
        row.verdict = night_.verdict;
        row.reason = night_.verdict == "invalid" ? "the control differs from its twin" : "";
        must(writer_.add_comparisons(uid_, 0, {row}));
        must(writer_.set_verdict(uid_, night_.verdict));
    }

    std::string own_uid() { return fmt::format("01KDXG{:04}{:016}", night_.day, ++uids_); }

    Writer& writer_;
    const Night& night_;
    const std::string uid_ = night_uid(night_.day);
    std::int64_t at_ = start_at + night_.day * 86400 * second;
    int uids_ = 0;
};

TempDir temporary() {
    auto directory = TempDir::make("kab-nights-");
    if (!directory) throw std::runtime_error(directory.error().text());
    return std::move(*directory);
}

}  // namespace

std::string night_uid(int day) {
    return fmt::format("01KDXG{:04}{:016}", day, 0);
}

void add_night(store::Store& store, const Night& night) {
    must(store.write([&](Writer& writer) -> Status {
        Filler(writer, night).everything();
        return {};
    }));
}

EmptyDatabase::EmptyDatabase() : directory(temporary()) {
    auto opened = store::Store::open(directory.path() / "kab.db", store::Store::Mode::read_write);
    if (!opened) throw std::runtime_error(opened.error().text());
    store = std::move(*opened);
}

}  // namespace kab::test
