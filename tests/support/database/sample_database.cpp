#include "tests/support/database/sample_database.h"

#include <cmath>
#include <stdexcept>

#include "common/workload_catalog.h"
#include "tests/support/database/sample_figures.h"

namespace kab::test {
namespace {

using store::Writer;

constexpr const char* bug_text =
    "kernel BUG at ipc/namespace.c:117!\n"
    "(before) ------------[ cut here ]------------\n"
    "invalid opcode: 0000 [#1] SMP\n"
    "CPU: 1 PID: 93 Comm: kab-agent Not tainted 6.1.158 #1\n"
    "RIP: 0010:free_ipc_ns+0x2c/0x90\n"
    "Code: 00 00 5b 5d c3 0f 0b 48 89 df\n"
    "RSP: 0018:ffffc900001b3e58 EFLAGS: 00010246\n"
    "Call Trace:\n"
    " <TASK>\n"
    " put_ipc_ns+0x1b/0x90\n"
    " free_nsproxy+0x3e/0x150\n"
    " do_exit+0x2f1/0xa40\n"
    " </TASK>\n"
    "---[ end trace 0000000000000000 ]---\n"
    "Kernel panic - not syncing: Fatal exception";

void must(const Status& status) {
    if (!status) throw std::runtime_error(status.error().text());
}

/// Writes one evaluation step by step, its clock ticking a second a step.
class Filler {
  public:
    Filler(Writer& writer, const SampleOptions& options) : writer_(writer), options_(options) {}

    void everything() {
        must(writer_.set_host(
            {"local", "local", "qemu", "up", R"({"cpu":"Example CPU @ 2.40GHz","cores":"2"})", tick()}));
        must(writer_.add_evaluation(new_evaluation(), tick()));
        step("queued", "freezing");
        step("freezing", "queued");
        step("queued", "building");
        build();
        if (!options_.failing_build.empty()) return;
        step("building", "running");
        for (int number = 1; number <= options_.blocks; ++number) {
            if (options_.interrupted_block && number == 3) {
                block(number, 1, "excluded");
                block(number, 2, "complete");
            } else if (options_.noisy && (number == 2 || number == 4)) {
                int tries = 0;
                while (tries < number / 2) block(number, ++tries, "noisy");
                block(number, ++tries, "complete");
            } else {
                block(number, 1, "complete");
            }
        }
        if (options_.status == "running") {
            block(options_.blocks + 1, 1, "running");
            return;
        }
        if (options_.blocks >= 6) add_comparisons();
        step("running", options_.status, options_.blocks == 0 ? "limits.evaluation was reached after 0 blocks" : "");
    }

  private:
    std::int64_t tick() { return at_ += second; }
    /// 26 characters of Crockford base32: the evaluation's number, then a counter.
    std::string uid() { return fmt::format("01KDXF{:04}{:016}", options_.number, ++uids_); }

    void step(const std::string& from, const std::string& to, const std::string& detail = "") {
        must(writer_.set_evaluation(evaluation_, from, to, detail, tick()));
    }

    store::NewEvaluation new_evaluation() {
        store::NewEvaluation e;
        e.uid = evaluation_;
        const Json json = experiment_json(options_);
        e.experiment = json.at("experiment");
        e.question = json.at("question");
        e.spec_file = "configs/experiments/ipc-ns.yaml";
        e.spec_text = "experiment: ipc-ns-deferred-free\n";
        e.spec_hash = std::string(64, 'a');
        e.plan_text = "plan";
        e.plan_hash = std::string(64, 'b');
        e.experiment_json = dump_json(json);
        e.seed = 18446744073709551557ULL;
        e.idempotency_key = "key-" + evaluation_;
        for (const auto& arm : figures) {
            const std::string name = arm.name;
            const bool control = name == "A'";
            e.arms.push_back({name, name == "inline-free" ? "" : "inline-free", control,
                              control ? "control" : "measured", R"({"kind":"tarball"})"});
        }
        const std::vector<int> points = options_.swept ? std::vector<int>{0, 1} : std::vector<int>{0};
        for (int point : points)
            e.points.push_back({workload, point, options_.swept ? fmt::format("concurrency={}", point) : "",
                                dump_json(Json{{"children", 1000}, {"concurrency", point}})});
        for (const char* name : {"elapsed", "backlog", "counted-elapsed", "machine-busy"}) add_metric(e, name);
        for (const char* name : software_counters) add_metric(e, name);
        for (const char* name : hardware_counters) add_metric(e, name);
        if (options_.profile_iterations > 0)
            for (const char* name : {"share:spinlock", "share:spin-in-free", "profile-samples"}) add_metric(e, name);
        return e;
    }

    static void add_metric(store::NewEvaluation& e, const std::string& name) {
        auto info = find_metric(workload, name);
        if (name == "share:spinlock") info.better = Better::lower;  // the other group declares no direction
        e.metrics.push_back({workload, name, std::string(info.unit), to_string(info.better), to_string(info.scale)});
    }

    store::KernelRow kernel(const std::string& arm) const {
        store::KernelRow k;
        const bool mainline = arm == "deferred-free";
        const std::string origin_arm = arm == "A'" ? "inline-free" : arm;
        k.key = fmt::format("{:0<64}", mainline ? "3d" : origin_arm == "inline-free" ? "1a" : "2c");
        k.origin = "linux-source-6.1.tar.xz (6.1.158, sha256 5be1c2d00f11)";
        k.release = "6.1.158";
        k.config_hash = std::string(64, 'c');
        k.toolchain = "gcc (Debian 12.2.0-14+deb12u1) 12.2.0\nGNU ld (GNU Binutils for Debian) 2.40";
        k.compiler = "gcc (Debian 12.2.0-14+deb12u1) 12.2.0";
        if (origin_arm == "inline-free")
            k.patches =
                R"([{"file":"linux-6.1/ipc-ns/0001-free-inline.patch",)"
                R"("subject":"ipc: free the namespace inline in put_ipc_ns","patch_id":"4f1d2c3b5a69788796a5b4c3d2e1f00112233445"}])";
        if (arm == "per-ns-work")
            k.patches =
                R"([{"file":"linux-6.1/ipc-ns/0002-work-per-ns.patch",)"
                R"("subject":"ipc: one work item for each namespace, as in the series of 2012","patch_id":"99aabbccddeeff00112233445566778899aabbcc"}])";
        k.path = "/var/cache/kab/kernels/" + k.key + "/vmlinux";
        k.format = "vmlinux";
        k.image_hash = k.key;
        k.code_signature = options_.same_code && arm == "per-ns-work" ? fmt::format("{:0<64}", "3d") : k.key;
        k.wall_ns = 340 * second;
        k.cpu_ns = 640 * second;
        k.objects = 763;
        return k;
    }

    void build() {
        for (const auto& figure : figures) {
            const std::string arm = figure.name;
            must(writer_.set_arm_kernel(evaluation_, arm, kernel(arm)));
            must(writer_.set_arm(evaluation_, arm, "pending", "building", "", tick()));
            if (arm == options_.failing_build) {
                const std::string error =
                    "ipc/namespace.c:162:9: error: implicit declaration of function 'schedule_wrok'";
                must(writer_.set_arm(evaluation_, arm, "building", "failed", error, tick()));
                step("building", "failed", "arm " + arm + ": " + error);
                return;
            }
            if (arm != "A'") must(writer_.set_kernel_built(kernel(arm), tick()));
            must(writer_.set_arm(evaluation_, arm, "building", "ready", "", tick()));
        }
    }

    void block(int number, int repetition, const std::string& end) {
        must(writer_.add_block(evaluation_, number, repetition, tick()));
        for (int i = 0; i < 4; ++i) {
            const auto& arm = figures[(i + number) % 4];
            if (options_.stopped && arm.name == options_.crashing_arm && number > 3) continue;
            const auto boot = uid();
            must(writer_.add_boot(evaluation_, number, repetition, arm.name, i + 1, boot, tick()));
            if ((end == "excluded" || end == "noisy") && i >= 2) {
                must(writer_.set_boot(boot, "pending", "done", "cancelled", exclusion(end).second, tick()));
            } else if (end == "running" && i >= 2) {
                continue;
            } else {
                run_boot(boot, arm, number);
            }
        }
        if (end == "running") return;
        const auto [cause, detail] = exclusion(end);
        must(writer_.set_block(evaluation_, number, repetition, "running", cause.empty() ? "complete" : "excluded",
                               detail, cause, tick()));
    }

    /// Cause and detail of a block that ends like that; empty when it counts.
    static std::pair<std::string, std::string> exclusion(const std::string& end) {
        if (end == "excluded") return {"interrupted", "interrupted: limits.block was reached"};
        if (end == "noisy")
            return {"steal", "steal was 7.3% of the host's CPU time in run 4 of per-ns-work, more than 2%"};
        return {};
    }

    /// The same figures from boot to boot, but for one bad run of block 5.
    void conditions(store::NewRun& run, int number) const {
        if (!options_.noisy) return;
        const bool bad = number == 5 && run.seq == 4;
        const double step = static_cast<double>(run.seq % 4);
        run.conditions = {{"steal", bad ? 0.018 : 0.001 * step, "", {}, {}},
                          {"run-delay", bad ? 0.31 : 0.002 * step, "", {}, {}},
                          {"host-load", run.seq % 3 == 0 ? 1.5 : 0, "", {}, {}},
                          {"canary", 4000000 * (bad ? 1.42 : 1 + 0.01 * step), "", {}, {}},
                          {"throttled", {}, "the host does not tell: no CPU has thermal_throttle", {}, {}}};
    }

    void lose_host(const std::string& boot, int tries, const std::string& why) {
        must(writer_.set_boot(boot, "pending", "running", "", "", tick()));
        const auto lost = uid();
        must(writer_.add_attempt(boot, lost, tries, "local", tick()));
        store::AttemptEnd end;
        end.outcome = "infra-error";
        end.detail = why;
        must(writer_.finish_attempt(lost, end, {}, tick()));
        must(writer_.set_boot(boot, "running", "pending", "", end.detail, tick()));
    }

    void run_boot(const std::string& boot, const ArmFigures& arm, int number) {
        int tries = 0;
        // The first boot of block 2 loses its host once.
        if (number == 2 && !retried_) {
            retried_ = true;
            lose_host(boot, ++tries, "qemu could not be started: Cannot allocate memory");
        }
        while (arm.name == options_.unlucky_arm && tries < 3) lose_host(boot, ++tries, "qemu died of signal 11");
        must(writer_.set_boot(boot, "pending", "running", "", "", tick()));
        const auto attempt = uid();
        must(writer_.add_attempt(boot, attempt, ++tries, "local", tick()));
        must(writer_.set_attempt_hello(attempt, hello()));
        const bool crash = arm.name == options_.crashing_arm && (options_.stopped || number == 2 || number == 4);
        runs(attempt, arm, number, crash);
        store::AttemptEnd end;
        end.outcome = crash ? "kernel-crash" : "ok";
        end.detail = crash ? "kernel BUG at ipc/namespace.c:117!" : "";
        end.setup_ns = 41000000;
        end.hello_ns = 1100000000 + number * 1000000;
        end.work_ns = 38 * second;
        end.teardown_ns = 22000000;
        end.false_starts = 1;
        end.console_path = "consoles/" + attempt + ".log";
        end.console_sha256 = std::string(64, 'e');
        end.console_bytes = 18234;
        std::vector<store::NewConsoleEvent> events;
        if (crash) {
            events.push_back({"warning", "warning", "WARNING: CPU: N PID: N at kernel/workqueue.c:N __queue_work",
                              "WARNING: CPU: 0 PID: 1 at kernel/workqueue.c:1433 __queue_work+0x3a1/0x480", 398});
            events.push_back({"bug", "fatal", "kernel BUG at ipc/namespace.c", bug_text, 412});
        }
        must(writer_.finish_attempt(attempt, end, events, tick()));
        if (!crash) must(writer_.accept_attempt(boot, attempt));
        must(writer_.set_boot(boot, "running", "done", end.outcome, end.detail, tick()));
        if (crash && options_.stopped && number == 3)
            must(writer_.set_arm(evaluation_, arm.name, "ready", "stopped",
                                 "3 boots in a row failed; the last: kernel-crash: " + end.detail, tick()));
    }

    store::AttemptHello hello() const {
        const Json environment{
            {"release", "6.1.158"},
            {"version", "#1 SMP kab"},
            {"command_line", "console=ttyS0 reboot=t panic=-1"},
            {"cpu_model", options_.emulated ? "QEMU TCG CPU version 2.5+" : "Example CPU @ 2.40GHz"},
            {"microcode", "0x1000065"},
            {"cpus", 2},
            {"memory_bytes", 536870912},
            {"clocksource", options_.emulated ? "tsc" : "kvm-clock"},
            {"high_resolution_timers", true},
            {"governor", ""},
            {"lock_kind", "queued"},
            {"mitigations", {{"meltdown", "Vulnerable"}, {"spectre_v2", "Vulnerable"}, {"l1tf", "Not affected"}}},
            {"warnings", Json::array()}};
        return {dump_json(environment),
                options_.emulated ? "tcg" : "kvm",
                options_.emulated ? "the probe guest did not start under KVM" : "",
                "microvm",
                "QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)",
                "virtio"};
    }

    void runs(const std::string& attempt, const ArmFigures& arm, int number, bool crash) {
        const double boot_factor = 1 + 0.012 * noise_.next();
        std::int64_t seq = 0;
        for (int point = 0; point < (options_.swept ? 2 : 1); ++point) {
            for (int i = 0; i < options_.warmup + options_.iterations; ++i) {
                if (crash && i == 3) return;
                const bool warm = i < options_.warmup;
                // The first runs of a boot are slower.
                const double trend = 1 + 0.05 * std::exp(-i);
                store::NewRun run{
                    ++seq, workload, point, warm ? i : i - options_.warmup, warm, "timed", seq * 6 * second,
                    {},    {},       {}};
                run.samples.push_back(time("elapsed", arm.elapsed * boot_factor * trend, 0.02));
                run.samples.push_back(time("backlog", arm.backlog, 0.03));
                conditions(run, number);
                must(writer_.add_run(attempt, run));
            }
            for (int i = 0; i < options_.counter_iterations; ++i) {
                store::NewRun run{++seq, workload, point, i, false, "counted", seq * 6 * second, {}, {}, {}};
                counted(run, arm);
                conditions(run, number);
                must(writer_.add_run(attempt, run));
            }
            for (int i = 0; i < options_.profile_iterations; ++i) {
                store::NewRun run{++seq, workload, point, i, false, "profiled", seq * 6 * second, {}, {}, {}};
                profiled(run, arm);
                conditions(run, number);
                must(writer_.add_run(attempt, run));
            }
        }
    }

    void profiled(store::NewRun& run, const ArmFigures& arm) {
        const std::size_t column = arm.name == std::string("per-ns-work")     ? 1
                                   : arm.name == std::string("deferred-free") ? 2
                                                                              : 0;
        constexpr std::int64_t all = 20000;
        std::int64_t spinning = 0, freeing = 0, named = 0;
        for (const auto& figure : profile_figures) {
            const double part = figure.percent[column] / 100 * (1 + 0.04 * noise_.next());
            const bool missed = figure.symbol == std::string("rare_function") && run.iteration % 2 == 1;
            const auto samples = missed ? 0 : static_cast<std::int64_t>(part * static_cast<double>(all));
            named += samples;
            if (*figure.caller != '\0') spinning += samples;
            if (figure.caller == std::string("free_ipcs")) freeing += samples;
            if (samples > 0) run.profile.push_back({figure.symbol, figure.caller, samples, share(samples, all)});
        }
        run.profile.push_back({"everything_else", "", all - named, share(all - named, all)});
        run.samples.push_back({"share:spinlock", share(spinning, all), "", {}, {}});
        run.samples.push_back({"share:spin-in-free", share(freeing, all), "", {}, {}});
        run.samples.push_back({"profile-samples", static_cast<double>(all), "", {}, {}});
    }

    static double share(std::int64_t samples, std::int64_t all) {
        return static_cast<double>(samples) / static_cast<double>(all);
    }

    store::NewSample time(const char* metric, double seconds, double spread) {
        return {metric, std::floor(seconds * 1e9 * (1 + spread * noise_.next())), "", {}, {}};
    }

    void counted(store::NewRun& run, const ArmFigures& arm) {
        run.samples.push_back(time("counted-elapsed", arm.elapsed * 1.06, 0.02));
        run.samples.push_back(time("machine-busy", arm.task_clock * 1.1, 0.02));
        const std::int64_t enabled = 2 * second;
        const auto add = [&](const char* metric, double value, double spread, std::int64_t running) {
            run.samples.push_back({metric, std::floor(value * (1 + spread * noise_.next())), "", enabled, running});
        };
        add("task-clock", arm.task_clock * 1e9, 0.03, enabled);
        add("context-switches", 2375, 0.004, enabled);
        add("cpu-migrations", 1579, 0.009, enabled);
        add("page-faults", 37516, 0.004, enabled);
        const double cycles = arm.task_clock * 2.17e9;
        const double values[] = {cycles, cycles * 0.21, cycles * 0.89, cycles * 0.65, cycles * 0.037, cycles * 0.0004};
        for (std::size_t i = 0; i < std::size(hardware_counters); ++i) {
            if (options_.hardware_counters)
                add(hardware_counters[i], values[i], 0.03, enabled * 84 / 100);
            else
                run.samples.push_back({hardware_counters[i], {}, "no hardware counters on this machine", {}, {}});
        }
    }

    void add_comparisons() {
        std::vector<store::ComparisonRow> rows;
        for (const char* arm : {"per-ns-work", "deferred-free", "A'"}) {
            for (const char* metric : {"elapsed", "backlog"}) {
                store::ComparisonRow row;
                row.n = 6;
                row.arm = arm;
                row.against = "inline-free";
                row.workload = workload;
                row.point = options_.swept ? "*" : "";
                row.metric = metric;
                row.primary = std::string(metric) == "elapsed";
                row.estimate = std::string(arm) == "A'" ? 1.002 : 0.86;
                row.low = *row.estimate - 0.03;
                row.high = *row.estimate + 0.03;
                row.level = 0.99896;
                row.p = 0.0004;
                row.p_adjusted = 0.0008;
                row.verdict = std::string(arm) == "A'" ? "inconclusive" : "improved";
                rows.push_back(row);
            }
        }
        must(writer_.add_comparisons(evaluation_, 0, rows));
        must(writer_.set_verdict(evaluation_, options_.stopped ? "regressed" : "improved"));
    }

    Writer& writer_;
    const SampleOptions& options_;
    const std::string evaluation_ = sample_evaluation(options_.number);
    Noise noise_;
    std::int64_t at_ = start_at + options_.number * 86400 * second;
    int uids_ = 0;
    bool retried_ = false;
};

TempDir temporary() {
    auto directory = TempDir::make("kab-store-");
    if (!directory) throw std::runtime_error(directory.error().text());
    return std::move(*directory);
}

}  // namespace

std::string sample_evaluation(int number) {
    return fmt::format("01KDXF{:04}{:016}", number, 0);
}

void fill(store::Store& store, const SampleOptions& options) {
    must(store.write([&](Writer& writer) -> Status {
        Filler(writer, options).everything();
        return {};
    }));
}

SampleDatabase::SampleDatabase(const SampleOptions& options) : directory(temporary()) {
    auto opened = store::Store::open(file(), store::Store::Mode::read_write);
    if (!opened) throw std::runtime_error(opened.error().text());
    store = std::move(*opened);
    fill(*store, options);
}

}  // namespace kab::test
