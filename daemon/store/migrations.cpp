#include "daemon/store/migrations.h"

#include <cerrno>
#include <cstdio>

#include "common/digest/sha256.h"
#include "daemon/fault/fault_point.h"

namespace kab::store {
namespace {

Result<std::int64_t> version_of(Database& database) {
    return database.integer("read its version", "PRAGMA user_version");
}

tl::unexpected<Error> newer(const Database& database, std::int64_t version, std::int64_t known) {
    return tl::unexpected(Error{Fault::conflict,
                                fmt::format("the database is of version {}, this program knows up to {}: use the newer "
                                            "kab that wrote it, or another state directory (KAB_STATE_DIR)",
                                            version, known),
                                database.file().string()});
}

/// The applied migrations must be the ones we have: the same number with another text is another database.
Status check_texts(Database& database, std::span<const Migration> list, std::int64_t version) {
    for (const auto& migration : list) {
        if (migration.number > version) break;
        auto query = database.statement("read its migrations", "SELECT sha256 FROM migration WHERE number = ?");
        query.bind(std::int64_t{migration.number});
        const auto found = query.next();
        if (!found) return pass(found);
        std::string sha256;
        if (*found) query.read(sha256);
        if (sha256 != sha256_hex(migration.sql))
            return tl::unexpected(Error{Fault::conflict,
                                        fmt::format("migration {} ({}) of this database is not this program's: it was "
                                                    "made by another build; move the file away",
                                                    migration.number, migration.name),
                                        database.file().string()});
    }
    return {};
}

/// A copy in one file, complete or not there at all.
Status back_up(Database& database, int number) {
    const std::string target = fmt::format("{}.before-{}", database.file().string(), number);
    const std::string partial = target + ".part";
    std::error_code ignored;
    fs::remove(partial, ignored);
    auto copy = database.statement("back up the database", "VACUUM INTO ?");
    if (auto copied = copy.bind(partial).run(); !copied) {
        fs::remove(partial, ignored);
        return copied;
    }
    auto text = open_file(partial, 0);
    if (!text) return pass(text);
    if (::fsync(text->get()) != 0) return fail_errno(errno, "fsync " + partial);
    if (::rename(partial.c_str(), target.c_str()) != 0) return fail_errno(errno, "rename " + partial);
    return {};
}

/// Inside a transaction.
Status apply_one(Database& database, const Migration& migration, std::int64_t at) {
    const std::string what = fmt::format("apply migration {} ({})", migration.number, migration.name);
    const auto version = version_of(database);
    if (!version) return pass(version);
    if (*version >= migration.number) return {};  // another process was faster
    if (auto done = database.execute(what.c_str(), migration.sql); !done) return done;
    if (!database.in_transaction()) return fail(Fault::internal, "{}: it must not end the transaction", what);
    const auto broken = database.integer(what.c_str(), "SELECT count(*) FROM pragma_foreign_key_check");
    if (!broken) return pass(broken);
    if (*broken != 0)
        return tl::unexpected(Error{Fault::internal, fmt::format("cannot {}: it breaks {} foreign keys", what, *broken),
                                    database.file().string()});
    auto insert = database.statement("note the migration",
                                     "INSERT INTO migration (number, name, sha256, applied_at) VALUES (?, ?, ?, ?)");
    insert.bind(std::int64_t{migration.number}, migration.name, sha256_hex(migration.sql), at);
    if (auto noted = insert.run(); !noted) return noted;
    const std::string pragma = fmt::format("PRAGMA user_version = {}", migration.number);
    return database.execute(what.c_str(), pragma);
}

/// All or none of them.
Status apply(Database& database, std::span<const Migration> list, std::int64_t at) {
    Transaction transaction(database);
    if (auto begun = transaction.begin(); !begun) return begun;
    for (const auto& migration : list)
        if (auto applied = apply_one(database, migration, at); !applied) return applied;
    fault_point("start.migrating");
    return transaction.commit();
}

}  // namespace

Status migrate(Database& database, std::span<const Migration> list, std::int64_t at) {
    const auto version = version_of(database);
    if (!version) return pass(version);
    const int last = list.back().number;
    if (*version > last) return newer(database, *version, last);
    if (*version == 0) {
        const auto tables = database.integer("look into the file", "SELECT count(*) FROM sqlite_schema");
        if (!tables) return pass(tables);
        if (*tables != 0)
            return tl::unexpected(Error{Fault::conflict, "a database, but not one of kab's: move the file away",
                                        database.file().string()});
    } else {
        if (auto same = check_texts(database, list, *version); !same) return same;
        if (*version < last)
            if (auto copied = back_up(database, static_cast<int>(*version) + 1); !copied) return copied;
    }
    if (*version == last) return {};
    // Rebuilding a table needs foreign keys off, which only works outside a transaction; apply() checks them all.
    if (auto off = database.execute("turn off foreign keys", "PRAGMA foreign_keys = OFF"); !off) return off;
    Status result;
    if (*version == 0) {
        result = apply(database, list, at);  // at once: readers meet no database of an old version
    } else {
        for (const auto& migration : list)
            if (result && migration.number > *version) result = apply(database, {&migration, 1}, at);
    }
    if (result) fault_point("start.migrated");
    auto on = database.execute("turn on foreign keys", "PRAGMA foreign_keys = ON");
    return result ? on : result;
}

Status check_version(Database& database, std::span<const Migration> list) {
    const auto version = version_of(database);
    if (!version) return pass(version);
    const int last = list.back().number;
    if (*version > last) return newer(database, *version, last);
    if (*version == last) return {};
    if (*version == 0) {
        const auto tables = database.integer("look into the file", "SELECT count(*) FROM sqlite_schema");
        if (!tables) return pass(tables);
        // kabd is about to fill it.
        if (*tables == 0)
            return tl::unexpected(Error{Fault::not_found, "there is no database yet: nothing has been evaluated here",
                                        database.file().string()});
    }
    return tl::unexpected(
        Error{Fault::conflict,
              fmt::format("the database is of version {}, this program reads {}: start kabd once to migrate it",
                          *version, last),
              database.file().string()});
}

}  // namespace kab::store
