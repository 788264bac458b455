#pragma once
#include "common/files.h"
#include "common/result.h"

namespace kab::api {

/// A listening unix socket, close-on-exec and non-blocking; the file has `mode` from its first moment.
/// The process's umask is another meanwhile: no other thread may create files.
/// A socket file that a dead process left is replaced; Fault::conflict when somebody answers on it.
Result<UniqueFd> listen_socket(const fs::path& path, unsigned mode);

}  // namespace kab::api
