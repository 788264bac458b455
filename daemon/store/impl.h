#pragma once
// Private to the store's sources.
#include "daemon/store/database.h"
#include "daemon/store/store.h"

namespace kab::store {

struct Store::Impl {
    Store::Mode mode = Store::Mode::read_only;
    std::unique_ptr<Database> database;
};

}  // namespace kab::store
