#pragma once
// Private to the writer's sources: what its functions share.
#include "daemon/store/impl.h"

namespace kab::store {

struct Change {
    std::int64_t at = 0;
    std::string evaluation;  ///< uid; empty for a host
    const char* object = "";
    std::string name, from, to, detail;
};

/// The row of `transition` that goes with a change.
Status note(Database& database, const Change& change);

/// What to answer when a compare-and-set changed nothing: `present` selects the status that is there.
Status missed(Statement& present, const std::string& object, const std::string& from, const std::string& to);

/// Fault::not_found unless exactly one row was changed.
Status expect_one(const Result<std::int64_t>& changed, const std::string& object);

Result<std::int64_t> evaluation_id(Database& database, const std::string& uid);
Result<std::int64_t> arm_id(Database& database, std::int64_t evaluation_id, const std::string& name);

/// One id selected by a bound statement; Fault::not_found naming `object`.
Result<std::int64_t> one_id(Statement& query, const std::string& object);

}  // namespace kab::store
