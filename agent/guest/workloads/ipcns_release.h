#pragma once
// Many ipc namespaces that lose their last user in one moment.
#include <cstdint>

#include "common/result.h"

namespace kab::guest {

/// Makes `namespaces` ipc namespaces in some processes that hold them until all are made and then all exit at once.
/// A kernel with a work item for each of them starts as many workers for it as it ever will: they stay for minutes,
/// each with a task of its own, and would pass for memory that later namespaces leave behind.
Status release_ipc_namespaces_at_once(std::int64_t namespaces);

}  // namespace kab::guest
