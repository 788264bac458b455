#pragma once
// SQLite as four small types: Database, Statement (with its binder), Transaction, ReadTransaction. Only database.cpp
// and query.cpp include sqlite3.h. Errors are Results that name the file, what was attempted and SQLite's own message.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/files.h"
#include "common/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace kab::store {

class Statement;

/// One connection. Not thread-safe and not to be used across a fork.
class Database {
  public:
    enum class Access { read_write, read_only };
    /// read_write creates the file and turns on WAL, foreign keys and a busy timeout. The -wal and -shm files persist,
    /// so that readers without write permission can open the database while no writer runs.
    static Result<std::unique_ptr<Database>> open(const fs::path& file, Access access);
    ~Database();
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    /// Runs one or several statements; rows are dropped. `what` completes "cannot ...".
    Status execute(const char* what, const std::string& sql);
    /// A prepared statement, cached by its text. A failed prepare comes out at its first step.
    Statement statement(const char* what, const char* sql);
    Result<std::int64_t> integer(const char* what, const char* sql);  ///< first column of the first row

    bool in_transaction() const;
    std::int64_t last_id() const;
    const fs::path& file() const { return file_; }
    sqlite3* handle() const { return handle_; }
    /// SQLITE_FULL, IOERR ... → io, CONSTRAINT → conflict, BUSY → timeout, the rest → internal.
    tl::unexpected<Error> failed(int code, const std::string& what) const;

  private:
    Database(fs::path file, sqlite3* handle) : file_(std::move(file)), handle_(handle) {}
    Status configure(Access access);
    Status turn_on_wal();
    fs::path file_;
    sqlite3* handle_;
    std::map<const char*, sqlite3_stmt*> cache_;
};

/// Binds as NULL when empty.
struct NullIfEmpty {
    const std::string& text;
};

/// A use of a prepared statement: bind, then run() or next() and read(). Reset at the end of its life; two uses of one
/// text must not overlap.
class Statement {
  public:
    Statement(Database& database, const char* what, sqlite3_stmt* handle, int code);
    ~Statement();
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;

    /// Binds parameters 1, 2, ... in order.
    template <class... Values>
    Statement& bind(const Values&... values) {
        int index = 0;
        (bind_one(++index, values), ...);
        return *this;
    }
    /// True when there is a (next) row.
    Result<bool> next();
    Status run();
    /// run(), and the number of rows it changed.
    Result<std::int64_t> change();
    /// The columns of the present row in order; NULL reads as 0, "" or an empty optional.
    template <class... Values>
    void read(Values&... values) const {
        int column = 0;
        (read_one(column++, values), ...);
    }

  private:
    void bind_one(int index, const std::string& value);
    void bind_one(int index, const char* value);
    void bind_one(int index, std::int64_t value);
    void bind_one(int index, bool value);
    void bind_one(int index, const NullIfEmpty& value);
    void bind_one(int index, const std::optional<std::int64_t>& value);
    void bind_one(int index, const std::optional<double>& value);
    void bind_null(int index);
    void read_one(int column, std::string& value) const;
    void read_one(int column, std::int64_t& value) const;
    void read_one(int column, std::uint64_t& value) const;  ///< stored as decimal text
    void read_one(int column, bool& value) const;
    void read_one(int column, std::optional<std::int64_t>& value) const;
    void read_one(int column, std::optional<double>& value) const;

    Database& database_;
    const char* what_;
    sqlite3_stmt* handle_;
    int code_;  ///< the first thing that went wrong, SQLITE_OK so far
};

/// All rows of a statement; `fill(statement, row)` reads one.
template <class Row, class Fill>
Result<std::vector<Row>> collect(Statement& statement, const Fill& fill) {
    std::vector<Row> rows;
    for (;;) {
        const auto more = statement.next();
        if (!more) return pass(more);
        if (!*more) return rows;
        fill(statement, rows.emplace_back());
    }
}

/// BEGIN IMMEDIATE; rolled back at the end of its life unless committed.
class Transaction {
  public:
    explicit Transaction(Database& database) : database_(database) {}
    ~Transaction();
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    Status begin();
    Status commit();

  private:
    Database& database_;
    bool open_ = false;
};

/// One snapshot for several reads; joins a transaction that is already open.
class ReadTransaction {
  public:
    explicit ReadTransaction(Database& database) : database_(database) {}
    ~ReadTransaction();
    ReadTransaction(const ReadTransaction&) = delete;
    ReadTransaction& operator=(const ReadTransaction&) = delete;
    Status begin();

  private:
    Database& database_;
    bool open_ = false;
};

}  // namespace kab::store
