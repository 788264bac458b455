#pragma once
// Which handler answers which method and path.
#include <functional>
#include <string>
#include <vector>

#include "daemon/api/http.h"

namespace kab::api {

inline constexpr std::size_t ordinary_body_bytes = 4U << 20;
inline constexpr std::size_t blob_body_bytes = 64U << 20;

struct Route {
    std::string method;
    std::string pattern;  ///< "/v1/evaluations/{id}/cancel": {…} stands for one path segment
    std::function<HttpReply(const HttpRequest&)> handler;
    std::size_t body_limit = ordinary_body_bytes;
};

class Router {
  public:
    void add(Route route);

    /// A route with the request's method, parameters and query filled in; or the answer to give (404, 405, 400).
    struct Match {
        const Route* route = nullptr;
        HttpRequest request;
        HttpReply refusal;
    };
    Match match(const std::string& method, const std::string& target) const;

  private:
    std::vector<Route> routes_;
};

}  // namespace kab::api
