#pragma once
#include <string>

#include "common/result.h"

namespace kab::api {

/// Percent-encoding of a path segment or query value (RFC 3986): all but unreserved characters.
std::string percent_encode(const std::string& text);
/// Fault::usage for a '%' without two hex digits.
Result<std::string> percent_decode(const std::string& text);

/// True for 64 lower-case hex digits.
bool is_sha256(const std::string& text);

}  // namespace kab::api
