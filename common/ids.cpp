#include "common/ids.h"

#include <sys/random.h>

#include <cassert>
#include <cstring>

namespace kab {
namespace {

constexpr char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

void fill_random(void* bytes, std::size_t size) {
    const ssize_t got = getrandom(bytes, size, 0);
    // Requests of at most 256 bytes are never cut short once the pool is ready (getrandom(2)).
    assert(got == static_cast<ssize_t>(size));
    (void)got;
}

}  // namespace

std::string UlidSource::next() {
    const auto now = std::chrono::floor<std::chrono::milliseconds>(clock_.wall()).time_since_epoch().count();
    auto milliseconds = static_cast<std::uint64_t>(now);
    if (milliseconds <= last_milliseconds_) {
        // Same millisecond (or a clock that went back): count on, so that order is kept.
        milliseconds = last_milliseconds_;
        for (int i = 9; i >= 0 && ++last_random_[i] == 0; --i) {
        }
    } else {
        fill_random(last_random_, sizeof last_random_);
        last_random_[0] &= 0x7f;  // room to count on
    }
    last_milliseconds_ = milliseconds;

    std::uint8_t bytes[16];
    for (int i = 0; i < 6; ++i) bytes[i] = static_cast<std::uint8_t>(milliseconds >> (40 - 8 * i));
    std::memcpy(bytes + 6, last_random_, 10);

    std::string text(26, '0');
    // 130 bits in 26 characters: two leading zero bits, then the 128.
    for (int i = 0; i < 26; ++i) {
        int value = 0;
        for (int bit = 0; bit < 5; ++bit) {
            const int at = i * 5 + bit - 2;
            const int one = at < 0 ? 0 : (bytes[at / 8] >> (7 - at % 8)) & 1;
            value = value << 1 | one;
        }
        text[static_cast<std::size_t>(i)] = alphabet[value];
    }
    return text;
}

bool is_ulid(std::string_view text) {
    if (text.size() != 26) return false;
    for (const char c : text)
        if (c == '\0' || std::strchr(alphabet, c) == nullptr) return false;
    return true;
}

std::uint64_t random_seed() {
    std::uint64_t seed = 0;
    fill_random(&seed, sizeof seed);
    return seed;
}

}  // namespace kab
