#pragma once
#include <string>

#include "common/files.h"
#include "common/result.h"

namespace kab::api {

/// A unix socket's path in a form that fits sockaddr_un (108 bytes): a longer path goes through
/// /proc/self/fd/N of its directory, which must exist. Good as long as this object lives.
class SocketAddress {
  public:
    /// Fault::io when the directory of a long path cannot be opened.
    static Result<SocketAddress> of(const fs::path& path);
    const std::string& text() const { return text_; }

  private:
    UniqueFd directory_;
    std::string text_;
};

}  // namespace kab::api
