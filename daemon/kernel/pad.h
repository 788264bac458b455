#pragma once
// The same kernel with its code elsewhere.
#include <string>

#include "daemon/kernel/source_store.h"

namespace kab::kernel {

/// `tree` with an object of `bytes` of text that nothing calls, linked before all ordinary code, so that this lies
/// further up by that much (rounded up to the alignment of functions); the same tree for 0. Fault::spec if the tree has
/// no init/Makefile to link it by.
Result<std::string> pad_code(const std::string& tree, std::int64_t bytes, const SourceStore& store);

}  // namespace kab::kernel
