#pragma once
// Between the coordinator's types and the API's.
#include "daemon/coordinator/service.h"
#include "protocol/api/types.h"

namespace kab::api {

Progress convert(const ProgressEvent& event);
Submission convert(const Submit& body, const std::string& idempotency_key);

}  // namespace kab::api
