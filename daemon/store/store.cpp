#include "daemon/store/store.h"

#include "common/clock.h"
#include "daemon/fault/fault_point.h"
#include "daemon/store/impl.h"
#include "daemon/store/migrations.h"

namespace kab::store {

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() = default;

Result<std::unique_ptr<Store>> Store::open(const fs::path& file, Mode mode) {
    auto impl = std::make_unique<Impl>();
    impl->mode = mode;
    if (mode == Mode::read_write) {
        if (file.has_parent_path())
            if (auto made = make_directories(file.parent_path()); !made) return pass(made);
        auto database = Database::open(file, Database::Access::read_write);
        if (!database) return pass(database);
        impl->database = std::move(*database);
        const auto now = SystemClock().wall().time_since_epoch().count();
        if (auto migrated = migrate(*impl->database, embedded_migrations(), now); !migrated) return pass(migrated);
    } else {
        std::error_code error;
        if (!fs::exists(file, error) && (!error || error == std::errc::no_such_file_or_directory))
            return tl::unexpected(
                Error{Fault::not_found, "there is no database yet: nothing has been evaluated here", file.string()});
        auto database = Database::open(file, Database::Access::read_only);
        if (!database) return pass(database);
        impl->database = std::move(*database);
        if (auto ready = check_version(*impl->database, embedded_migrations()); !ready) return pass(ready);
    }
    return std::unique_ptr<Store>(new Store(std::move(impl)));
}

Status Store::write(const std::function<Status(Writer&)>& body) {
    if (impl_->mode != Mode::read_write) return fail(Fault::internal, "a store opened read-only cannot be written");
    if (impl_->database->in_transaction()) return fail(Fault::internal, "Store::write inside Store::write");
    Transaction transaction(*impl_->database);
    if (auto begun = transaction.begin(); !begun) return begun;
    Writer writer(*impl_);
    if (auto done = body(writer); !done) return done;
    fault_point("store.filled");
    auto committed = transaction.commit();
    if (committed) fault_point("store.committed");
    return committed;
}

Status Store::checkpoint() {
    // TRUNCATE waits for readers as long as the busy timeout; what is left then stays in the log, which is no loss.
    return impl_->database->execute("fold the write-ahead log into the file", "PRAGMA wal_checkpoint(TRUNCATE)");
}

std::int64_t Store::wal_bytes() const {
    std::error_code error;
    const auto size = fs::file_size(impl_->database->file().string() + "-wal", error);
    return error ? 0 : static_cast<std::int64_t>(size);
}

}  // namespace kab::store
