#include "common/process/capture.h"

#include <fmt/core.h>

#include <algorithm>

namespace kab {

void Capture::push(std::string_view bytes) {
    const std::size_t half = limit_ / 2;
    const std::size_t to_head = std::min(bytes.size(), half - std::min(half, head_.size()));
    head_.append(bytes.substr(0, to_head));
    bytes.remove_prefix(to_head);
    if (bytes.empty()) return;
    tail_.append(bytes);
    // Trimmed only when it has doubled, so that the cost per byte stays constant.
    if (tail_.size() > 2 * half) {
        const std::size_t extra = tail_.size() - half;
        tail_.erase(0, extra);
        dropped_ += extra;
    }
}

std::string Capture::text() const {
    const std::size_t half = limit_ / 2;
    const std::size_t extra = tail_.size() > half ? tail_.size() - half : 0;
    const std::size_t dropped = dropped_ + extra;
    if (dropped == 0) return head_ + tail_;
    return fmt::format("{}\n[... {} bytes left out ...]\n{}", head_, dropped, std::string_view(tail_).substr(extra));
}

}  // namespace kab
