#include "daemon/api/router.h"

#include <optional>

#include "protocol/api/text.h"

namespace kab::api {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    for (;;) {
        const auto end = text.find(separator, begin);
        parts.push_back(text.substr(begin, end - begin));
        if (end == std::string::npos) return parts;
        begin = end + 1;
    }
}

/// The segments that stand for {…}, still encoded; nothing if the path is another.
std::optional<std::vector<std::string>> parameters_of(const std::string& pattern, const std::string& path) {
    const auto wanted = split(pattern, '/');
    const auto given = split(path, '/');
    if (wanted.size() != given.size()) return std::nullopt;
    std::vector<std::string> parameters;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i].starts_with('{') && !given[i].empty())
            parameters.push_back(given[i]);
        else if (wanted[i] != given[i])
            return std::nullopt;
    }
    return parameters;
}

Result<std::map<std::string, std::string>> parse_query(const std::string& text) {
    std::map<std::string, std::string> query;
    if (text.empty()) return query;
    for (const auto& pair : split(text, '&')) {
        const auto equals = pair.find('=');
        auto key = percent_decode(pair.substr(0, equals));
        if (!key) return pass(key);
        auto value = percent_decode(equals == std::string::npos ? "" : pair.substr(equals + 1));
        if (!value) return pass(value);
        if (!query.emplace(*key, *value).second) return fail(Fault::usage, "query: '{}' is given twice", *key);
    }
    return query;
}

}  // namespace

void Router::add(Route route) {
    routes_.push_back(std::move(route));
}

Router::Match Router::match(const std::string& method, const std::string& target) const {
    Match match;
    const auto question = target.find('?');
    const auto path = target.substr(0, question);
    std::string allowed;
    for (const auto& route : routes_) {
        auto parameters = parameters_of(route.pattern, path);
        if (!parameters) continue;
        if (route.method != method) {
            allowed += (allowed.empty() ? "" : ", ") + route.method;
            continue;
        }
        for (auto& parameter : *parameters) {
            auto decoded = percent_decode(parameter);
            if (!decoded) {
                match.refusal = HttpReply::error(decoded.error());
                return match;
            }
            match.request.parameters.push_back(std::move(*decoded));
        }
        auto query = parse_query(question == std::string::npos ? "" : target.substr(question + 1));
        if (!query) {
            match.refusal = HttpReply::error(query.error());
            return match;
        }
        match.request.query = std::move(*query);
        match.request.method = method;
        match.route = &route;
        return match;
    }
    if (allowed.empty())
        match.refusal = HttpReply::error(
            404, {Fault::not_found, fmt::format("there is no {} (docs/api.md lists the paths)", path), {}});
    else
        match.refusal = HttpReply::error(
            405, {Fault::usage, fmt::format("{} cannot be used with {} (only {})", method, path, allowed), {}});
    return match;
}

}  // namespace kab::api
