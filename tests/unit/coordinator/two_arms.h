#pragma once
#include "daemon/spec/experiment.h"

namespace kab {

/// A baseline and a treatment, one workload, looks after 2 and 6 blocks.
inline Experiment two_arms() {
    Experiment experiment;
    experiment.name = "test";
    experiment.arms = {{"base", {}, ""}, {"patched", {}, "base"}};
    WorkloadSpec workload;
    workload.workload = "ipcns-exit";
    workload.with = {{"children", 10}, {"concurrency", 0}};
    experiment.workloads = {workload};
    experiment.decide.primary = "ipcns-exit/elapsed";
    experiment.decide.looks = {2, 6};
    return experiment;
}

}  // namespace kab
