#include "common/result.h"

#include <system_error>

namespace kab {

const char* to_string(Fault fault) {
    switch (fault) {
        case Fault::usage: return "usage";
        case Fault::spec: return "spec";
        case Fault::not_found: return "not-found";
        case Fault::conflict: return "conflict";
        case Fault::io: return "io";
        case Fault::build: return "build";
        case Fault::infra: return "infra";
        case Fault::protocol: return "protocol";
        case Fault::cancelled: return "cancelled";
        case Fault::timeout: return "timeout";
        case Fault::internal: return "internal";
    }
    return "internal";
}

std::string Error::text() const {
    return where.empty() ? message : where + ": " + message;
}

tl::unexpected<Error> fail_errno(int error_number, const std::string& action) {
    return fail(Fault::io, "{}: {}", action, std::generic_category().message(error_number));
}

}  // namespace kab
