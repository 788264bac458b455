#pragma once
#include <string>
#include <string_view>

namespace kab {

/// What a guest printed, fit for messages and the database: valid UTF-8; '?' stands for control characters (tabs
/// are kept) and for bytes that are no text.
std::string printable(std::string_view bytes);

/// The longest prefix of at most `most` bytes that does not end within a character. `utf8` must be valid.
std::string_view cut_to(std::string_view utf8, std::size_t most);

}  // namespace kab
