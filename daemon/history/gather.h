#pragma once
// Reads what a history is made of.
#include "daemon/history/history.h"
#include "daemon/store/store.h"

namespace kab::history {

/// Every evaluation of the experiment, and of other experiments those that ended well and booted two or more different
/// kernels of its; oldest first.
Result<std::vector<Record>> gather(const store::Store& store, const std::string& experiment);

}  // namespace kab::history
