#include "protocol/framing.h"

#include <cassert>

namespace kab {
namespace {

constexpr std::size_t prefix_bytes = 4;
constexpr std::size_t compact_above = 64U << 10;  // moving the rest to the front costs; do it seldom

std::size_t read_length(std::string_view bytes) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < prefix_bytes; ++i) {
        length |= static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    }
    return length;
}

}  // namespace

std::string frame(std::string_view payload) {
    assert(payload.size() <= max_frame_bytes);
    std::string out;
    out.reserve(prefix_bytes + payload.size());
    for (std::size_t i = 0; i < prefix_bytes; ++i) out.push_back(static_cast<char>((payload.size() >> (8 * i)) & 0xff));
    out.append(payload);
    return out;
}

void FrameReader::push(std::string_view bytes) {
    if (at_ == buffer_.size() || at_ > compact_above) {
        buffer_.erase(0, at_);
        at_ = 0;
    }
    // In error nothing more is kept: a peer that talks nonsense must not fill our memory.
    const bool in_error =
        buffer_.size() - at_ >= prefix_bytes && read_length(std::string_view(buffer_).substr(at_)) > max_frame_bytes;
    if (!in_error) buffer_.append(bytes);
}

Result<std::optional<std::string>> FrameReader::pop() {
    const std::string_view waiting = std::string_view(buffer_).substr(at_);
    if (waiting.size() < prefix_bytes) return std::nullopt;
    const std::size_t length = read_length(waiting);
    if (length > max_frame_bytes) {
        return fail(Fault::protocol, "a frame of {} bytes; at most {} are allowed", length, max_frame_bytes);
    }
    if (waiting.size() < prefix_bytes + length) return std::nullopt;
    std::string payload(waiting.substr(prefix_bytes, length));
    at_ += prefix_bytes + length;
    return payload;
}

}  // namespace kab
