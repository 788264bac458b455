#pragma once
// Many substrings searched for in one pass (Aho-Corasick).
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace kab {

class Needles {
  public:
    struct Hit {
        std::uint16_t needle = 0;  ///< index into the list given
        std::size_t at = 0;        ///< where it begins
    };

    /// At most 65535 needles, none empty.
    explicit Needles(const std::vector<std::string_view>& needles);

    /// Calls `found(Hit)` for every occurrence, in the order in which they end.
    template <class Handler>
    void search(std::string_view text, const Handler& found) const {
        std::uint32_t state = 0;
        for (std::size_t i = 0; i < text.size(); ++i) {
            state = next_[state * width_ + classes_[static_cast<unsigned char>(text[i])]];
            for (std::uint32_t at = state; ends_[at] != 0; at = shorter_[at]) {
                for (const std::uint16_t needle : endings_[ends_[at] - 1]) found(Hit{needle, i + 1 - lengths_[needle]});
            }
        }
    }

  private:
    std::uint32_t add_state();

    std::array<std::uint8_t, 256> classes_{};  ///< bytes that occur in no needle share class 0
    std::uint32_t width_ = 1;
    std::vector<std::uint32_t> next_;     ///< state × class → state
    std::vector<std::uint32_t> ends_;     ///< state → 1 + index into endings_; 0: nothing ends here or below
    std::vector<std::uint32_t> shorter_;  ///< state → next shorter suffix at which something ends
    std::vector<std::vector<std::uint16_t>> endings_;
    std::vector<std::size_t> lengths_;
};

}  // namespace kab
