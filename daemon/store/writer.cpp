#include "daemon/store/writer.h"

namespace kab::store {

Status note(Database& database, const Change& change) {
    auto insert =
        database.statement("note the change",
                           "INSERT INTO transition (at, evaluation_id, object, name, from_status, to_status, detail) "
                           "VALUES (?, (SELECT id FROM evaluation WHERE uid = ?), ?, ?, ?, ?, ?)");
    insert.bind(change.at, NullIfEmpty{change.evaluation}, change.object, change.name, change.from, change.to,
                change.detail);
    return insert.run();
}

Status missed(Statement& present, const std::string& object, const std::string& from, const std::string& to) {
    const auto row = present.next();
    if (!row) return pass(row);
    if (!*row) return fail(Fault::not_found, "{}: not in the database", object);
    std::string status;
    present.read(status);
    return fail(Fault::conflict, "{}: cannot go from '{}' to '{}', it is '{}'", object, from, to, status);
}

Status expect_one(const Result<std::int64_t>& changed, const std::string& object) {
    if (!changed) return pass(changed);
    if (*changed == 0) return fail(Fault::not_found, "{}: not in the database", object);
    return {};
}

Result<std::int64_t> one_id(Statement& query, const std::string& object) {
    const auto row = query.next();
    if (!row) return pass(row);
    if (!*row) return fail(Fault::not_found, "{}: not in the database", object);
    std::int64_t id = 0;
    query.read(id);
    return id;
}

Result<std::int64_t> evaluation_id(Database& database, const std::string& uid) {
    auto query = database.statement("look up the evaluation", "SELECT id FROM evaluation WHERE uid = ?");
    return one_id(query.bind(uid), "evaluation " + uid);
}

Result<std::int64_t> arm_id(Database& database, std::int64_t evaluation_id, const std::string& name) {
    auto query = database.statement("look up the arm", "SELECT id FROM arm WHERE evaluation_id = ? AND name = ?");
    return one_id(query.bind(evaluation_id, name), "arm " + name);
}

}  // namespace kab::store
