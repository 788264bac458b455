#pragma once
// A frame is a u32 length (little endian) and that many bytes of JSON, at most 1 MiB.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/result.h"

namespace kab {

inline constexpr std::size_t max_frame_bytes = 1U << 20;

/// Length prefix and payload. Asserts that the payload is within the limit.
std::string frame(std::string_view payload);

/// Collects bytes as they come and gives whole payloads. After an error it stays in error.
class FrameReader {
  public:
    void push(std::string_view bytes);
    /// The next payload; nullopt when more bytes are needed. Fault::protocol for a frame that is too long.
    Result<std::optional<std::string>> pop();
    /// Bytes of an unfinished frame are waiting.
    bool partial() const { return buffer_.size() > at_; }

  private:
    std::string buffer_;
    std::size_t at_ = 0;
};

}  // namespace kab
