#include "daemon/store/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cassert>
#include <cstdlib>
#include <system_error>

namespace kab::store {
namespace {

constexpr int writer_wait_ms = 10000;
constexpr int reader_wait_ms = 5000;

Fault fault_of(int code) {
    switch (code & 0xff) {
        case SQLITE_CONSTRAINT: return Fault::conflict;
        case SQLITE_BUSY:
        case SQLITE_LOCKED: return Fault::timeout;
        case SQLITE_INTERRUPT: return Fault::cancelled;
        case SQLITE_FULL:
        case SQLITE_IOERR:
        case SQLITE_CANTOPEN:
        case SQLITE_READONLY:
        case SQLITE_PERM:
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
        case SQLITE_NOMEM: return Fault::io;
        default: return Fault::internal;
    }
}

std::string remedy(int code, bool reader) {
    switch (code & 0xff) {
        case SQLITE_FULL: return "; free some space and start again, nothing stored so far is lost";
        case SQLITE_BUSY: return "; another program holds it";
        case SQLITE_CANTOPEN:
        case SQLITE_READONLY:
        case SQLITE_PERM:
            // Without -wal and -shm (removed by another program) a reader would have to make them, and may not.
            return reader ? "; reading needs read permission on the file, its -wal and its -shm: if those two are "
                            "missing, any kab command of the owner makes them"
                          : "";
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB: return "; restore it from a backup (kab.db.before-N) or move it away";
        default: return {};
    }
}

}  // namespace

tl::unexpected<Error> Database::failed(int code, const std::string& what) const {
    // The message belongs to the last call on the connection; use it only if that is the call that failed.
    const bool current = handle_ && sqlite3_extended_errcode(handle_) == code;
    std::string message = fmt::format("cannot {}: {}", what, current ? sqlite3_errmsg(handle_) : sqlite3_errstr(code));
    const int primary = code & 0xff;
    const bool reader = handle_ && sqlite3_db_readonly(handle_, "main") == 1;
    if (handle_ && (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN)) {
        const int number = sqlite3_system_errno(handle_);
        if (number != 0) message += fmt::format(" ({})", std::generic_category().message(number));
    }
    return tl::unexpected(Error{fault_of(code), message + remedy(code, reader), file_.string()});
}

Result<std::unique_ptr<Database>> Database::open(const fs::path& file, Access access) {
    const int flags = access == Access::read_write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
    sqlite3* handle = nullptr;
    const int code =
        sqlite3_open_v2(file.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
    std::unique_ptr<Database> database(new Database(file, handle));
    if (code != SQLITE_OK) return database->failed(code, "open the database");
    if (auto configured = database->configure(access); !configured) return pass(configured);
    return database;
}

Status Database::configure(Access access) {
    const bool writer = access == Access::read_write;
    sqlite3_busy_timeout(handle_, writer ? writer_wait_ms : reader_wait_ms);
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    // Before the first read, and for readers too: whoever closes last would otherwise remove -wal and -shm.
    int keep = 1;
    if (int code = sqlite3_file_control(handle_, "main", SQLITE_FCNTL_PERSIST_WAL, &keep); code != SQLITE_OK)
        return failed(code, "keep the write-ahead log");
    if (!writer) {
        sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
        sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
        return execute("set up the connection", "PRAGMA query_only = ON");
    }
    if (auto set = turn_on_wal(); !set) return set;
    // FULL: a commit is on the disk before anybody hears of it, so that a power cut takes nothing that was
    // acknowledged.
    return execute("set up the connection",
                   "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA wal_autocheckpoint = 1000; "
                   "PRAGMA journal_size_limit = 16777216");
}

Status Database::turn_on_wal() {
    auto query = statement("turn on write-ahead logging", "PRAGMA journal_mode = WAL");
    const auto row = query.next();
    if (!row) return pass(row);
    // Where it cannot be had, as on some network file systems, SQLite goes on without it and calls that success.
    std::string mode;
    if (*row) query.read(mode);
    if (mode == "wal") return {};
    return tl::unexpected(
        Error{Fault::io,
              fmt::format("no write-ahead log is possible here (journal_mode is {}): use a local file "
                          "system",
                          mode),
              file_.string()});
}

Database::~Database() {
    for (const auto& [text, statement] : cache_) sqlite3_finalize(statement);
    const int code = sqlite3_close(handle_);
    assert(code == SQLITE_OK);
    (void)code;
}

Status Database::execute(const char* what, const std::string& sql) {
    const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return failed(code, what);
    return {};
}

Statement Database::statement(const char* what, const char* sql) {
    sqlite3_stmt*& cached = cache_[sql];
    int code = SQLITE_OK;
    if (!cached) code = sqlite3_prepare_v3(handle_, sql, -1, SQLITE_PREPARE_PERSISTENT, &cached, nullptr);
    return {*this, what, cached, code};
}

Result<std::int64_t> Database::integer(const char* what, const char* sql) {
    auto query = statement(what, sql);
    const auto row = query.next();
    if (!row) return pass(row);
    std::int64_t value = 0;
    if (*row) query.read(value);
    return value;
}

bool Database::in_transaction() const {
    return sqlite3_get_autocommit(handle_) == 0;
}

std::int64_t Database::last_id() const {
    return sqlite3_last_insert_rowid(handle_);
}

Statement::Statement(Database& database, const char* what, sqlite3_stmt* handle, int code)
    : database_(database), what_(what), handle_(handle), code_(code) {
    assert(!handle_ || !sqlite3_stmt_busy(handle_));
}

Statement::~Statement() {
    if (!handle_) return;
    sqlite3_reset(handle_);  // repeats the code of the last step, which has been reported
    sqlite3_clear_bindings(handle_);
}

Result<bool> Statement::next() {
    if (code_ != SQLITE_OK) return database_.failed(code_, what_);
    const int code = sqlite3_step(handle_);
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    return database_.failed(code, what_);
}

Status Statement::run() {
    for (;;) {
        const auto more = next();
        if (!more) return pass(more);
        if (!*more) return {};
    }
}

Result<std::int64_t> Statement::change() {
    if (auto done = run(); !done) return pass(done);
    return sqlite3_changes64(database_.handle());
}

#define KAB_BIND(call) \
    if (code_ == SQLITE_OK) code_ = (call)

void Statement::bind_one(int index, const std::string& value) {
    KAB_BIND(sqlite3_bind_text64(handle_, index, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}
void Statement::bind_one(int index, const char* value) {
    KAB_BIND(sqlite3_bind_text(handle_, index, value, -1, SQLITE_TRANSIENT));
}
void Statement::bind_one(int index, std::int64_t value) {
    KAB_BIND(sqlite3_bind_int64(handle_, index, value));
}
void Statement::bind_one(int index, bool value) {
    KAB_BIND(sqlite3_bind_int(handle_, index, value ? 1 : 0));
}
void Statement::bind_one(int index, const NullIfEmpty& value) {
    value.text.empty() ? bind_null(index) : bind_one(index, value.text);
}
void Statement::bind_one(int index, const std::optional<std::int64_t>& value) {
    value ? bind_one(index, *value) : bind_null(index);
}
void Statement::bind_one(int index, const std::optional<double>& value) {
    if (!value) return bind_null(index);
    KAB_BIND(sqlite3_bind_double(handle_, index, *value));
}
void Statement::bind_null(int index) {
    KAB_BIND(sqlite3_bind_null(handle_, index));
}

#undef KAB_BIND

void Statement::read_one(int column, std::string& value) const {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(handle_, column));
    const int bytes = sqlite3_column_bytes(handle_, column);
    value.assign(text ? text : "", text ? static_cast<std::size_t>(bytes) : 0);
}
void Statement::read_one(int column, std::int64_t& value) const {
    value = sqlite3_column_int64(handle_, column);
}
void Statement::read_one(int column, std::uint64_t& value) const {
    std::string text;
    read_one(column, text);
    value = std::strtoull(text.c_str(), nullptr, 10);
}
void Statement::read_one(int column, bool& value) const {
    value = sqlite3_column_int(handle_, column) != 0;
}
void Statement::read_one(int column, std::optional<std::int64_t>& value) const {
    value.reset();
    if (sqlite3_column_type(handle_, column) != SQLITE_NULL) value = sqlite3_column_int64(handle_, column);
}
void Statement::read_one(int column, std::optional<double>& value) const {
    value.reset();
    if (sqlite3_column_type(handle_, column) != SQLITE_NULL) value = sqlite3_column_double(handle_, column);
}

Transaction::~Transaction() {
    // A failed COMMIT or a full disk may have rolled back already.
    if (open_ && database_.in_transaction()) (void)database_.execute("roll back", "ROLLBACK");
}

Status Transaction::begin() {
    auto begun = database_.execute("begin a transaction", "BEGIN IMMEDIATE");
    open_ = begun.has_value();
    return begun;
}

Status Transaction::commit() {
    auto committed = database_.execute("commit", "COMMIT");
    if (committed) open_ = false;
    return committed;
}

ReadTransaction::~ReadTransaction() {
    if (open_ && database_.in_transaction()) (void)database_.execute("end reading", "COMMIT");
}

Status ReadTransaction::begin() {
    if (database_.in_transaction()) return {};
    auto begun = database_.execute("begin reading", "BEGIN");
    open_ = begun.has_value();
    return begun;
}

}  // namespace kab::store
