#include "daemon/api/http.h"

#include "protocol/api/json.h"

namespace kab::api {

HttpReply HttpReply::json(int status, const Json& body) {
    HttpReply reply;
    reply.status = status;
    reply.body = dump_json(body) + "\n";
    return reply;
}

HttpReply HttpReply::error(int status, const Error& error) {
    return json(status, error_to_json(error));
}

HttpReply HttpReply::error(const Error& error) {
    return HttpReply::error(http_status(error.fault), error);
}

}  // namespace kab::api
