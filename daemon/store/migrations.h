#pragma once
// Numbered migrations (schema/NNNN_name.sql, embedded at build); PRAGMA user_version is the number of the last one.
#include <cstdint>
#include <span>

#include "daemon/store/database.h"

namespace kab::store {

struct Migration {
    int number = 0;
    const char* name = "";
    const char* sql = "";
};

/// Ascending from 1 without gaps; at least one.
std::span<const Migration> embedded_migrations();

/// Brings the database to the last of `list`, each migration in a transaction of its own, an empty one by a single
/// transaction. A database that holds
/// something already is first copied to <file>.before-<number of the first migration to come>. Fault::conflict when
/// it is newer than `list` or was made by other texts of the same numbers; it is then left untouched.
Status migrate(Database& database, std::span<const Migration> list, std::int64_t at);

/// For readers: Fault::conflict with the remedy unless the database is at the last of `list`.
Status check_version(Database& database, std::span<const Migration> list);

}  // namespace kab::store
