#pragma once
// What the store holds, as the API shows it. Used by kabd's handlers, and by kab where no daemon runs.
#include "daemon/store/store.h"
#include "protocol/api/types.h"

namespace kab::api {

Evaluation view_of(const store::EvaluationRow& row);
Kernel view_of(const store::KernelRow& row);
Host view_of(const store::HostRow& row);
Transition view_of(const store::TransitionRow& row);

/// All, newest first (at most 1000).
Result<std::vector<Evaluation>> list_evaluations(const store::Store& store);
/// `name` as in Store::find_evaluation. Without progress: that is the daemon's to know.
Result<EvaluationDetail> show_evaluation(const store::Store& store, const std::string& name);
Result<std::vector<Kernel>> list_kernels(const store::Store& store);
Result<std::vector<Host>> list_hosts(const store::Store& store);

}  // namespace kab::api
