#include "tests/support/database/sample_figures.h"

namespace kab::test {

Json experiment_json(const SampleOptions& options) {
    Json counters = Json::array();
    for (const char* name : software_counters) counters.push_back(name);
    for (const char* name : hardware_counters) counters.push_back(name);
    Json sweep = Json::object();
    if (options.swept) sweep["concurrency"] = {0, 1};
    Json arms = Json::array();
    for (int i = 0; i < 3; ++i)
        arms.push_back({{"name", figures[i].name},
                        {"against", i == 0 ? "" : "inline-free"},
                        {"config", {"/usr/share/kab/configs/kernel/vm.config"}},
                        {"command_line", ""}});
    Json experiment{
        {"experiment", "ipc-ns-deferred-free"},
        {"question", "Does freeing an IPC namespace from a workqueue make exit faster?"},
        {"arms", arms},
        {"workloads",
         {{{"workload", workload},
           {"with", {{"children", 1000}, {"concurrency", 0}}},
           {"sweep", sweep},
           {"iterations", options.iterations},
           {"warmup", options.warmup},
           {"counters", counters},
           {"counter_iterations", options.counter_iterations}}}},
        {"host", {{"kind", "qemu"}, {"cpus", 2}, {"memory_bytes", 536870912}, {"accel", "auto"}, {"machine", "auto"}}},
        {"decide",
         {{"primary", "ipcns-exit/elapsed"},
          {"margin", 0.02},
          {"alpha", 0.05},
          {"looks", {6, 10, 16, 24, 32}},
          {"control", true}}},
        {"exclude", options.noisy ? Json{{"steal", 0.02}, {"throttled", true}} : Json::object()},
        {"limits", {{"boot_ns", 60 * second}, {"run_ns", 300 * second}, {"block_ns", 1200 * second}}}};
    if (!options.score.empty()) experiment["workloads"][0]["score"] = options.score;
    if (options.of_kernel)
        experiment["workloads"][0]["profile"]["groups"] = Json::array({{{"name", "spinlock"}, {"of", "kernel"}}});
    if (options.at_one) experiment["decide"]["at"] = {{"concurrency", 1}};
    if (options.exact) experiment["host"]["exact"] = true;
    return experiment;
}

}  // namespace kab::test
