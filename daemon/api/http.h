#pragma once
// HTTP as the handlers see it: plain values, no network.
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/json.h"
#include "common/result.h"

namespace kab::api {

struct HttpRequest {
    std::string method;                        ///< "GET"
    std::vector<std::string> parameters;       ///< what stood for each {…} of the route, decoded
    std::map<std::string, std::string> query;  ///< decoded
    std::string idempotency_key;               ///< the header's value; empty without
    std::string body;
};

/// A body that goes on for as long as the reader stays: lines, each with its '\n'.
class LineSource {
  public:
    struct Batch {
        std::string lines;
        bool more = false;  ///< call next() again without waiting
    };
    virtual ~LineSource() = default;
    /// What is ready now: at most about 256 KiB. An error ends the stream.
    virtual Result<Batch> next() = 0;
    /// `wake` is called (from the loop's thread) when next() may have something again.
    virtual void on_ready(std::function<void()> wake) = 0;
};

struct HttpReply {
    int status = 200;
    std::string body;                    ///< JSON; empty for none
    std::unique_ptr<LineSource> stream;  ///< instead of a body
    std::function<void()> afterwards;    ///< called when the answer has been written

    static HttpReply json(int status, const Json& body);
    static HttpReply error(const Error& error);
    static HttpReply error(int status, const Error& error);
};

}  // namespace kab::api
