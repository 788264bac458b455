#pragma once
// Portable random numbers: the same on every machine and library, unlike the distributions of <random>.
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace kab::stats {

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
class SplitMix {
  public:
    explicit SplitMix(std::uint64_t state) : state_(state) {}

    std::uint64_t next() {
        state_ += 0x9e3779b97f4a7c15U;
        return mix(state_);
    }

    /// Uniform in [0, bound), without bias (rejection); bound > 0.
    std::uint64_t below(std::uint64_t bound) {
        const std::uint64_t threshold = (0 - bound) % bound;  // 2^64 mod bound
        for (;;) {
            const std::uint64_t drawn = next();
            if (drawn >= threshold) return drawn % bound;
        }
    }

    /// Uniform in (0, 1), 53 bits.
    double uniform() { return (static_cast<double>(next() >> 11) + 0.5) * 0x1.0p-53; }

    /// Fisher-Yates, from the back.
    template <class T>
    void shuffle(std::vector<T>& items) {
        for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
    }

    static std::uint64_t mix(std::uint64_t z) {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
    }

  private:
    std::uint64_t state_;
};

/// A seed of its own for one use of the stored seed: the parts are mixed in one after the other, so
/// that (1, 2) and (2, 1) differ and neighbouring blocks share nothing.
inline std::uint64_t derive_seed(std::uint64_t seed, std::uint64_t purpose, std::uint64_t index = 0) {
    std::uint64_t state = SplitMix::mix(seed + 0x9e3779b97f4a7c15U);
    state = SplitMix::mix((state ^ purpose) + 0x9e3779b97f4a7c15U);
    return SplitMix::mix((state ^ index) + 0x9e3779b97f4a7c15U);
}

}  // namespace kab::stats
