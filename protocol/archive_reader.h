#pragma once
// Reading by lists of fields: see protocol/archive.h.
#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "common/json.h"

namespace kab::archive {

/// What is wrong, with the path to it (".runs[2].seq: is missing"); empty if nothing is.
using Problem = std::string;

Problem read(const Json& in, std::string& out);
Problem read(const Json& in, bool& out);
Problem read(const Json& in, std::int64_t& out);
Problem read(const Json& in, int& out);
Problem read(const Json& in, double& out);
Problem read(const Json& in, Json& out);
Problem expected(const char* what, const Json& found);  ///< "expected WHAT, found ..."

template <class T>
Problem read(const Json& in, std::vector<T>& out);
template <class T>
Problem read(const Json& in, std::map<std::string, T>& out);
template <class T>
Problem read(const Json& in, std::optional<T>& out);
template <class T>
requires std::is_class_v<T> || std::is_enum_v<T> Problem read(const Json& in, T& out);

class Reader {
  public:
    explicit Reader(const Json& in) : in_(in) {}
    template <class T>
    void operator()(const char* key, T& value) {
        get(key, value, true);
    }
    template <class T>
    void maybe(const char* key, T& value) {
        get(key, value, false);
    }
    const Problem& problem() const { return problem_; }

  private:
    template <class T>
    void get(const char* key, T& value, bool required) {
        if (!problem_.empty()) return;
        const auto found = in_.find(key);
        if (found == in_.end() || (found->is_null() && !std::is_same_v<T, Json>)) {
            if (required) problem_ = fmt::format(".{}: is missing", key);
            return;
        }
        if (Problem problem = read(*found, value); !problem.empty()) problem_ = fmt::format(".{}{}", key, problem);
    }

    const Json& in_;
    Problem problem_;
};

template <class T>
Problem read(const Json& in, std::vector<T>& out) {
    if (!in.is_array()) return expected("a list", in);
    out.resize(in.size());
    for (std::size_t i = 0; i < in.size(); ++i)
        if (Problem problem = read(in[i], out[i]); !problem.empty()) return fmt::format("[{}]{}", i, problem);
    return {};
}

template <class T>
Problem read(const Json& in, std::map<std::string, T>& out) {
    if (!in.is_object()) return expected("an object", in);
    for (const auto& [key, value] : in.items())
        if (Problem problem = read(value, out[key]); !problem.empty()) return fmt::format("['{}']{}", key, problem);
    return {};
}

template <class T>
Problem read(const Json& in, std::optional<T>& out) {
    return read(in, out.emplace());
}

/// A type with fields, or an enumeration that its namespace reads from text: archive_parse(text, out).
template <class T>
requires std::is_class_v<T> || std::is_enum_v<T> Problem read(const Json& in, T& out) {
    if constexpr (std::is_enum_v<T>) {
        std::string text;
        if (Problem problem = read(in, text); !problem.empty()) return problem;
        return archive_parse(text, out);
    } else {
        if (!in.is_object()) return expected("an object", in);
        Reader reader(in);
        fields(reader, out);
        return reader.problem();
    }
}

}  // namespace kab::archive
