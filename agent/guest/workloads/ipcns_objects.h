#pragma once
// What a self-check puts into an IPC namespace and expects to find there, or not.
#include "common/result.h"

namespace kab::guest {

/// A semaphore set under the check's key in the present namespace, made with `value` in its first semaphore. Error when
/// there is one already.
Status make_semaphore(int value);
/// Fails unless that set can be found and has `value`.
Status expect_semaphore(int value);
/// Fails unless there is none in the present namespace.
Status expect_no_semaphore();
Status remove_semaphore();

/// A semaphore with an undo, shared memory that is attached and written, a message in a queue, and a POSIX queue where
/// the kernel has them: all left to be freed with the namespace.
Status fill_namespace(int value);

}  // namespace kab::guest
