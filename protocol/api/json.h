#pragma once
// The API's types as JSON, and back.
#include "protocol/api/types.h"

namespace kab::api {

Json to_json(const Version& value);
Json to_json(const Submit& value);
Json to_json(const Submitted& value);
Json to_json(const Evaluation& value);
Json to_json(const EvaluationDetail& value);
Json to_json(const Kernel& value);
Json to_json(const Host& value);
Json to_json(const Transition& value);  ///< with "type": "transition"
Json to_json(const Progress& value);    ///< with "type": "progress"

/// Any of the types above. Fault::protocol names the field that is missing or of another type.
template <class T>
Result<T> from_json(const Json& json);

/// A line of the event stream. Nothing for a type this version does not know.
Result<std::optional<Event>> event_from_json(const Json& json);

/// {"evaluations": [...]}, {"kernels": [...]}, {"hosts": [...]}.
template <class T>
Json list_to_json(const char* key, const std::vector<T>& items) {
    Json array = Json::array();
    for (const auto& item : items) array.push_back(to_json(item));
    return Json{{key, std::move(array)}};
}
template <class T>
Result<std::vector<T>> list_from_json(const char* key, const Json& json) {
    auto array = json_get<Json::array_t>(json, key);
    if (!array) return pass(array);
    std::vector<T> items;
    for (const auto& element : *array) {
        auto item = from_json<T>(element);
        if (!item) return pass(item);
        items.push_back(std::move(*item));
    }
    return items;
}

/// The body of every answer that is not a success: {code, message, where}.
Json error_to_json(const Error& error);
/// Fault::protocol when it is no such body.
Error error_from_json(const Json& json);

/// usage, spec, protocol: 400; not-found: 404; conflict, cancelled: 409; timeout: 504; else 500.
int http_status(Fault fault);

}  // namespace kab::api
