#include "agent/host/console/needles.h"

#include <queue>

namespace kab {

std::uint32_t Needles::add_state() {
    const auto state = static_cast<std::uint32_t>(ends_.size());
    next_.resize(next_.size() + width_, 0);
    ends_.push_back(0);
    shorter_.push_back(0);
    return state;
}

Needles::Needles(const std::vector<std::string_view>& needles) {
    for (const auto needle : needles) {
        lengths_.push_back(needle.size());
        for (const char c : needle) {
            auto& byte_class = classes_[static_cast<unsigned char>(c)];
            if (byte_class == 0) byte_class = static_cast<std::uint8_t>(width_++);
        }
    }
    // The trie; 0 as a target means "not there yet" until the second pass.
    add_state();
    for (std::size_t i = 0; i < needles.size(); ++i) {
        std::uint32_t state = 0;
        for (const char c : needles[i]) {
            const std::size_t edge = state * width_ + classes_[static_cast<unsigned char>(c)];
            if (next_[edge] == 0) {
                const std::uint32_t made = add_state();
                next_[edge] = made;
            }
            state = next_[edge];
        }
        if (ends_[state] == 0) {
            endings_.emplace_back();
            ends_[state] = static_cast<std::uint32_t>(endings_.size());
        }
        endings_[ends_[state] - 1].push_back(static_cast<std::uint16_t>(i));
    }
    // Breadth first: where an edge is missing, go where the longest proper suffix goes.
    std::vector<std::uint32_t> suffix(ends_.size(), 0);
    std::queue<std::uint32_t> waiting;
    waiting.push(0);
    while (!waiting.empty()) {
        const std::uint32_t state = waiting.front();
        waiting.pop();
        for (std::uint32_t c = 0; c < width_; ++c) {
            auto& target = next_[state * width_ + c];
            const std::uint32_t fallback = state == 0 ? 0 : next_[suffix[state] * width_ + c];
            if (target == 0) {
                target = fallback;
                continue;
            }
            suffix[target] = fallback;
            // A state at which nothing ends itself stands for the suffix at which something does.
            if (ends_[target] == 0) {
                ends_[target] = ends_[fallback];
                shorter_[target] = shorter_[fallback];
            } else {
                shorter_[target] = fallback;
            }
            waiting.push(target);
        }
    }
}

}  // namespace kab
