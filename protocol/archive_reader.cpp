#include "protocol/archive_reader.h"

#include <utility>

namespace kab::archive {

Problem expected(const char* what, const Json& found) {
    return fmt::format(": expected {}, found {}", what, found.type_name());
}

Problem read(const Json& in, std::string& out) {
    if (!in.is_string()) return expected("a string", in);
    out = in.get_ref<const std::string&>();
    return {};
}

Problem read(const Json& in, bool& out) {
    if (!in.is_boolean()) return expected("true or false", in);
    out = in.get<bool>();
    return {};
}

Problem read(const Json& in, std::int64_t& out) {
    if (!in.is_number_integer()) return expected("an integer", in);
    if (in.is_number_unsigned() && !std::in_range<std::int64_t>(in.get<std::uint64_t>()))
        return ": the integer is too large";
    out = in.get<std::int64_t>();
    return {};
}

Problem read(const Json& in, int& out) {
    std::int64_t wide = 0;
    if (Problem problem = read(in, wide); !problem.empty()) return problem;
    if (!std::in_range<int>(wide)) return ": the integer is too large";
    out = static_cast<int>(wide);
    return {};
}

Problem read(const Json& in, double& out) {
    if (!in.is_number()) return expected("a number", in);
    out = in.get<double>();
    return {};
}

Problem read(const Json& in, Json& out) {
    out = in;
    return {};
}

}  // namespace kab::archive
