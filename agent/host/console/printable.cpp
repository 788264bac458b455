#include "agent/host/console/printable.h"

namespace kab {
namespace {

unsigned byte_at(std::string_view text, std::size_t at) {
    return static_cast<unsigned char>(text[at]);
}

/// Bytes of the character at the start of `text`, which is not empty; 0 when there is none.
std::size_t character_length(std::string_view text) {
    const unsigned lead = byte_at(text, 0);
    if (lead < 0x80) return 1;
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte_at(text, i) & 0xc0U) != 0x80U) return 0;
    }
    const unsigned second = byte_at(text, 1);
    const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
    const bool beyond = (lead == 0xed && second >= 0xa0) || (lead == 0xf4 && second >= 0x90);
    return overlong || beyond ? 0 : length;
}

}  // namespace

std::string printable(std::string_view bytes) {
    std::string result;
    result.reserve(bytes.size());
    while (!bytes.empty()) {
        const auto length = character_length(bytes);
        const bool control = length == 1 && bytes[0] != '\t' && (byte_at(bytes, 0) < 0x20 || byte_at(bytes, 0) == 0x7f);
        if (length == 0 || control) {
            result += '?';
            bytes.remove_prefix(1);
        } else {
            result += bytes.substr(0, length);
            bytes.remove_prefix(length);
        }
    }
    return result;
}

std::string_view cut_to(std::string_view utf8, std::size_t most) {
    if (utf8.size() <= most) return utf8;
    while (most > 0 && (byte_at(utf8, most) & 0xc0U) == 0x80U) --most;
    return utf8.substr(0, most);
}

}  // namespace kab
