// Store::query: what a person typed, kept from doing harm. Three fences: the connection is read-only, the statement
// must say it only reads, and an authorizer refuses what reaches beyond this file.
#include <sqlite3.h>

#include <array>
#include <chrono>
#include <cstring>

#include "daemon/store/impl.h"

namespace kab::store {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr auto time_limit = std::chrono::seconds(60);
constexpr int progress_steps = 10000;                       // virtual machine instructions between two looks
constexpr std::size_t most_bytes = std::size_t{256} << 20;  // of all values together
constexpr int most_value_bytes = 64 << 20;

bool reading_pragma(const char* name) {
    static constexpr std::array<const char*, 14> allowed{
        "table_info",     "table_xinfo",      "table_list",   "index_list",     "index_info",
        "index_xinfo",    "foreign_key_list", "user_version", "schema_version", "database_list",
        "collation_list", "function_list",    "page_count",   "page_size"};
    for (const char* known : allowed)
        if (sqlite3_stricmp(name, known) == 0) return true;
    return false;
}

/// Stops what a read-only connection and sqlite3_stmt_readonly would let through. (Not a list of what is allowed: table
/// functions such as json_each are declared, inside SQLite, by what looks like a CREATE TABLE.)
int authorize(void*, int action, const char* first, const char* second, const char*, const char*) {
    switch (action) {
        case SQLITE_ATTACH:
        case SQLITE_DETACH:
        case SQLITE_TRANSACTION:
        case SQLITE_SAVEPOINT: return SQLITE_DENY;
        case SQLITE_FUNCTION: return sqlite3_stricmp(second, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
        case SQLITE_PRAGMA: {
            // With an argument these name a table; user_version = 3 would be a write.
            const bool value = second && (sqlite3_stricmp(first, "user_version") == 0 ||
                                          sqlite3_stricmp(first, "schema_version") == 0);
            return reading_pragma(first) && !value ? SQLITE_OK : SQLITE_DENY;
        }
        default: return SQLITE_OK;
    }
}

int past_deadline(void* deadline) {
    return SteadyClock::now() > *static_cast<const SteadyClock::time_point*>(deadline) ? 1 : 0;
}

/// The fences on the connection, for the time of one query.
class Fences {
  public:
    explicit Fences(sqlite3* handle) : handle_(handle), deadline_(SteadyClock::now() + time_limit) {
        sqlite3_set_authorizer(handle_, authorize, nullptr);
        sqlite3_progress_handler(handle_, progress_steps, past_deadline, &deadline_);
        length_ = sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, most_value_bytes);
    }
    ~Fences() {
        sqlite3_set_authorizer(handle_, nullptr, nullptr);
        sqlite3_progress_handler(handle_, 0, nullptr, nullptr);
        sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, length_);
    }
    Fences(const Fences&) = delete;
    Fences& operator=(const Fences&) = delete;

  private:
    sqlite3* handle_;
    SteadyClock::time_point deadline_;
    int length_ = 0;
};

struct Finalizer {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Prepared = std::unique_ptr<sqlite3_stmt, Finalizer>;

tl::unexpected<Error> refused(sqlite3* handle, int code, const std::string& sql) {
    const char* message = sqlite3_errmsg(handle);
    if ((code & 0xff) == SQLITE_INTERRUPT)
        return fail(Fault::timeout, "the query took more than {} seconds and was stopped", time_limit.count());
    if ((code & 0xff) == SQLITE_AUTH)
        return fail(Fault::usage, "SQL: only reading this database is allowed ({})", message);
    const int offset = sqlite3_error_offset(handle);
    if (offset < 0 || static_cast<std::size_t>(offset) >= sql.size()) return fail(Fault::usage, "SQL: {}", message);
    const auto end = sql.find('\n', static_cast<std::size_t>(offset));
    const auto rest = sql.substr(static_cast<std::size_t>(offset),
                                 end == std::string::npos ? end : end - static_cast<std::size_t>(offset));
    return fail(Fault::usage, "SQL: {} (at character {}: \"{}\")", message, offset + 1, rest.substr(0, 40));
}

/// Exactly one statement that only reads.
Result<Prepared> prepare(sqlite3* handle, const std::string& sql) {
    sqlite3_stmt* raw = nullptr;
    const char* tail = nullptr;
    int code = sqlite3_prepare_v3(handle, sql.c_str(), static_cast<int>(sql.size()) + 1, 0, &raw, &tail);
    Prepared statement(raw);
    if (code != SQLITE_OK) return refused(handle, code, sql);
    if (!statement) return fail(Fault::usage, "SQL: there is no statement in it");
    sqlite3_stmt* second = nullptr;
    code = sqlite3_prepare_v3(handle, tail, -1, 0, &second, nullptr);
    const Prepared rest(second);
    if (code != SQLITE_OK || rest) return fail(Fault::usage, "SQL: one statement at a time, please");
    if (!sqlite3_stmt_readonly(statement.get())) return fail(Fault::usage, "SQL: only reading is allowed");
    if (sqlite3_bind_parameter_count(statement.get()) != 0)
        return fail(
            Fault::usage, "SQL: write values instead of parameters such as {}",
            sqlite3_bind_parameter_name(statement.get(), 1) ? sqlite3_bind_parameter_name(statement.get(), 1) : "?");
    return statement;
}

const char* type_name(int type) {
    switch (type) {
        case SQLITE_INTEGER: return "integer";
        case SQLITE_FLOAT: return "real";
        case SQLITE_TEXT: return "text";
        case SQLITE_BLOB: return "blob";
        default: return "null";
    }
}

std::optional<std::string> value_of(sqlite3_stmt* statement, int column) {
    const int type = sqlite3_column_type(statement, column);
    if (type == SQLITE_NULL) return std::nullopt;
    if (type == SQLITE_FLOAT) {
        // The shortest text that reads back as the same number; SQLite's own has 15 digits.
        auto number = fmt::format("{}", sqlite3_column_double(statement, column));
        if (number.find_first_not_of("-0123456789") == std::string::npos) number += ".0";
        return number;
    }
    if (type == SQLITE_BLOB) {
        const auto* bytes = static_cast<const unsigned char*>(sqlite3_column_blob(statement, column));
        const int size = sqlite3_column_bytes(statement, column);
        std::string hex;
        for (int i = 0; i < size; ++i) hex += fmt::format("{:02x}", bytes[i]);
        return hex;
    }
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
    return std::string(text ? text : "", static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
}

}  // namespace

Result<Store::Table> Store::query(const std::string& sql, std::int64_t max_rows) const {
    if (impl_->mode != Mode::read_only) return fail(Fault::internal, "queries need a store opened read-only");
    if (sql.size() > 1000000) return fail(Fault::usage, "SQL: more than a million characters");
    sqlite3* handle = impl_->database->handle();
    const Fences fences(handle);
    const auto statement = prepare(handle, sql);
    if (!statement) return pass(statement);
    Table table;
    const int columns = sqlite3_column_count(statement->get());
    for (int column = 0; column < columns; ++column)
        table.columns.emplace_back(sqlite3_column_name(statement->get(), column));
    std::size_t bytes = 0;
    for (;;) {
        const int code = sqlite3_step(statement->get());
        if (code == SQLITE_DONE) break;
        if (code == SQLITE_BUSY) return impl_->database->failed(code, "run the query");
        if (code != SQLITE_ROW) return refused(handle, code, sql);
        if (static_cast<std::int64_t>(table.rows.size()) >= max_rows)
            return fail(Fault::usage, "SQL: more than {} rows: add a LIMIT", max_rows);
        auto& row = table.rows.emplace_back();
        for (int column = 0; column < columns; ++column) {
            if (table.rows.size() == 1)
                table.types.emplace_back(type_name(sqlite3_column_type(statement->get(), column)));
            row.push_back(value_of(statement->get(), column));
            if (row.back()) bytes += row.back()->size();
        }
        if (bytes > most_bytes)
            return fail(Fault::usage, "SQL: more than {} MiB of results: ask for less", most_bytes >> 20);
    }
    return table;
}

}  // namespace kab::store
