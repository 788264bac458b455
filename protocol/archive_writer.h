#pragma once
// Writing by lists of fields: see protocol/archive.h.
#include <optional>
#include <utility>
#include <vector>

#include "common/json.h"

namespace kab::archive {

enum class Defaults { written, left_out };  ///< of `maybe` fields; an absent optional is always left out

/// An enumeration is written as the text that archive_text(value), in its namespace, gives.
template <Defaults defaults>
class Writer {
  public:
    template <class T>
    void operator()(const char* key, const T& value) {
        out_[key] = json_of(value);
    }
    template <class T>
    void maybe(const char* key, const T& value) {
        if (defaults == Defaults::written || !(value == T{})) out_[key] = json_of(value);
    }
    template <class T>
    void maybe(const char* key, const std::vector<T>& value) {
        if (defaults == Defaults::written || !value.empty()) out_[key] = json_of(value);
    }
    template <class T>
    void maybe(const char* key, const std::optional<T>& value) {
        if (value) out_[key] = json_of(*value);
    }
    Json take() { return std::move(out_); }

  private:
    template <class T>
    static Json json_of(const T& value) {
        if constexpr (requires(Writer w) { fields(w, value); }) {
            Writer inner;
            fields(inner, value);
            return inner.take();
        } else if constexpr (requires { archive_text(value); }) {
            return archive_text(value);
        } else {
            return value;
        }
    }
    template <class T>
    static Json json_of(const std::vector<T>& values) {
        Json array = Json::array();
        for (const T& value : values) array.push_back(json_of(value));
        return array;
    }
    template <class T>
    static Json json_of(const std::optional<T>& value) {
        return value ? json_of(*value) : Json();
    }

    Json out_ = Json::object();
};

template <Defaults defaults, class T>
Json write(const T& value) {
    Writer<defaults> writer;
    fields(writer, value);
    return writer.take();
}

}  // namespace kab::archive
