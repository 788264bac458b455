#pragma once
// nlohmann-json, wrapped once. Duplicate keys and non-finite numbers are refused.
// Include <nlohmann/json_fwd.hpp> alone where only the name is needed.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "common/result.h"

namespace kab {

using Json = nlohmann::json;

/// Parses a whole document. Fault::protocol with line and column on a syntax error, a
/// duplicate key, a number out of range, more than `max_depth` levels, or bytes after the end.
Result<Json> parse_json(std::string_view text, int max_depth = 32);

/// Compact, invalid UTF-8 replaced. Asserts on NaN or infinity: they must never get this far.
std::string dump_json(const Json& value);

/// Reads `object[key]` as T. Fault::protocol names the key when it is missing or of another type.
template <class T>
Result<T> json_get(const Json& object, const char* key) {
    if (!object.is_object()) return fail(Fault::protocol, "expected an object with '{}'", key);
    const auto found = object.find(key);
    if (found == object.end()) return fail(Fault::protocol, "missing '{}'", key);
    try {
        return found->template get<T>();
    } catch (const Json::exception& e) {
        return fail(Fault::protocol, "'{}': {}", key, e.what());
    }
}

/// As json_get, but `fallback` where the key is missing or null.
template <class T>
Result<T> json_get_or(const Json& object, const char* key, T fallback) {
    if (object.is_object()) {
        const auto found = object.find(key);
        if (found == object.end() || found->is_null()) return fallback;
    }
    return json_get<T>(object, key);
}

}  // namespace kab
