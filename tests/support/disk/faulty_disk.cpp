#include "tests/support/disk/faulty_disk.h"

#include <sqlite3.h>

#include <atomic>
#include <new>
#include <stdexcept>
#include <thread>

namespace kab::test {
namespace {

enum class Call { read, write, grow, sync, change };  ///< change: truncate, open for writing, remove

bool concerns(FaultyDisk::Fault fault, Call call) {
    switch (fault) {
        case FaultyDisk::Fault::no_space: return call == Call::write || call == Call::grow;
        case FaultyDisk::Fault::io_error: return call == Call::write || call == Call::sync || call == Call::change;
        case FaultyDisk::Fault::short_write: return call == Call::write;
        case FaultyDisk::Fault::sync_failure: return call == Call::sync;
        case FaultyDisk::Fault::read_error: return call == Call::read;
    }
    return false;
}

}  // namespace

struct FaultyDisk::Impl {
    sqlite3_vfs vfs{};
    sqlite3_vfs* real = nullptr;
    std::thread::id thread = std::this_thread::get_id();
    Fault fault = Fault::no_space;
    std::int64_t number = 0, calls = 0, failed = 0;
    bool lasting = false, healed = true;
    int pauses = 0;
    std::atomic<std::int64_t> left_elsewhere{0};  ///< reads until the one that fails; 0: none will

    /// Counts the call; whether it is to fail.
    bool fails(Call call) {
        if (std::this_thread::get_id() != thread && call == Call::read && left_elsewhere > 0)
            return --left_elsewhere == 0;
        if (std::this_thread::get_id() != thread || healed || pauses > 0 || !concerns(fault, call)) return false;
        ++calls;
        const bool now = number > 0 && (lasting ? calls >= number : calls == number);
        if (now) ++failed;
        return now;
    }
};

namespace {

/// The file of the default VFS lies behind it in the same memory, which SQLite gives us.
struct File {
    sqlite3_file base;
    FaultyDisk::Impl* disk;
    sqlite3_file* real;
};

File& of(sqlite3_file* file) {
    return *reinterpret_cast<File*>(file);
}
FaultyDisk::Impl& of(sqlite3_vfs* vfs) {
    return *static_cast<FaultyDisk::Impl*>(vfs->pAppData);
}

int close_file(sqlite3_file* file) {
    auto& own = of(file);
    const int code = own.real->pMethods->xClose(own.real);
    file->pMethods = nullptr;
    return code;
}

int read_file(sqlite3_file* file, void* to, int bytes, sqlite3_int64 at) {
    auto& own = of(file);
    return own.disk->fails(Call::read) ? SQLITE_IOERR_READ : own.real->pMethods->xRead(own.real, to, bytes, at);
}

int write_file(sqlite3_file* file, const void* from, int bytes, sqlite3_int64 at) {
    auto& own = of(file);
    const auto write = own.real->pMethods->xWrite;
    if (!own.disk->fails(Call::write)) return write(own.real, from, bytes, at);
    if (own.disk->fault == FaultyDisk::Fault::io_error) return SQLITE_IOERR_WRITE;
    if (own.disk->fault == FaultyDisk::Fault::short_write)
        if (const int code = write(own.real, from, bytes / 2, at); code != SQLITE_OK) return code;
    return SQLITE_FULL;
}

int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
    auto& own = of(file);
    return own.disk->fails(Call::change) ? SQLITE_IOERR_TRUNCATE : own.real->pMethods->xTruncate(own.real, size);
}

int sync_file(sqlite3_file* file, int flags) {
    auto& own = of(file);
    return own.disk->fails(Call::sync) ? SQLITE_IOERR_FSYNC : own.real->pMethods->xSync(own.real, flags);
}

int file_size(sqlite3_file* file, sqlite3_int64* size) {
    return of(file).real->pMethods->xFileSize(of(file).real, size);
}
int lock_file(sqlite3_file* file, int level) {
    return of(file).real->pMethods->xLock(of(file).real, level);
}
int unlock_file(sqlite3_file* file, int level) {
    return of(file).real->pMethods->xUnlock(of(file).real, level);
}
int check_reserved(sqlite3_file* file, int* result) {
    return of(file).real->pMethods->xCheckReservedLock(of(file).real, result);
}
int control(sqlite3_file* file, int operation, void* argument) {
    return of(file).real->pMethods->xFileControl(of(file).real, operation, argument);
}
int sector_size(sqlite3_file* file) {
    return of(file).real->pMethods->xSectorSize(of(file).real);
}
int characteristics(sqlite3_file* file) {
    return of(file).real->pMethods->xDeviceCharacteristics(of(file).real);
}

int shm_map(sqlite3_file* file, int page, int bytes, int extend, void volatile** memory) {
    auto& own = of(file);
    if (extend != 0 && own.disk->fails(Call::grow)) return SQLITE_IOERR_SHMSIZE;
    return own.real->pMethods->xShmMap(own.real, page, bytes, extend, memory);
}
int shm_lock(sqlite3_file* file, int offset, int n, int flags) {
    return of(file).real->pMethods->xShmLock(of(file).real, offset, n, flags);
}
void shm_barrier(sqlite3_file* file) {
    of(file).real->pMethods->xShmBarrier(of(file).real);
}
int shm_unmap(sqlite3_file* file, int remove) {
    return of(file).real->pMethods->xShmUnmap(of(file).real, remove);
}

constexpr sqlite3_io_methods methods{2,           close_file,  read_file,       write_file,  truncate_file,
                                     sync_file,   file_size,   lock_file,       unlock_file, check_reserved,
                                     control,     sector_size, characteristics, shm_map,     shm_lock,
                                     shm_barrier, shm_unmap,   nullptr,         nullptr};

int open_file(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* granted) {
    auto& disk = of(vfs);
    auto& own = *new (file) File{};
    if ((flags & SQLITE_OPEN_READWRITE) != 0 && disk.fails(Call::change)) return SQLITE_CANTOPEN;
    own.disk = &disk;
    own.real = reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(file) + sizeof(File));
    const int code = disk.real->xOpen(disk.real, name, own.real, flags, granted);
    if (code == SQLITE_OK) own.base.pMethods = &methods;
    return code;
}

int remove_file(sqlite3_vfs* vfs, const char* name, int sync) {
    auto& disk = of(vfs);
    return disk.fails(Call::change) ? SQLITE_IOERR_DELETE : disk.real->xDelete(disk.real, name, sync);
}

}  // namespace

const char* FaultyDisk::name_of(Fault fault) {
    switch (fault) {
        case Fault::no_space: return "no space";
        case Fault::io_error: return "I/O error";
        case Fault::short_write: return "short write";
        case Fault::sync_failure: return "sync failure";
        case Fault::read_error: return "read error";
    }
    return "";
}

FaultyDisk::FaultyDisk() : impl_(std::make_unique<Impl>()) {
    impl_->real = sqlite3_vfs_find(nullptr);
    if (impl_->real == nullptr) throw std::runtime_error("SQLite has no default VFS");
    // All else (paths, time, randomness) is the default's; none of that asks for its own sqlite3_vfs but to find what
    // is the same in the copy.
    impl_->vfs = *impl_->real;
    impl_->vfs.pNext = nullptr;
    impl_->vfs.zName = "kab-faulty-disk";
    impl_->vfs.pAppData = impl_.get();
    impl_->vfs.szOsFile = static_cast<int>(sizeof(File)) + impl_->real->szOsFile;
    impl_->vfs.xOpen = open_file;
    impl_->vfs.xDelete = remove_file;
    if (sqlite3_vfs_register(&impl_->vfs, 1) != SQLITE_OK) throw std::runtime_error("cannot register the faulty disk");
}

FaultyDisk::~FaultyDisk() {
    sqlite3_vfs_unregister(&impl_->vfs);
    sqlite3_vfs_register(impl_->real, 1);
}

void FaultyDisk::fail(Fault fault, std::int64_t number, bool lasting) {
    impl_->fault = fault;
    impl_->number = number;
    impl_->lasting = lasting;
    impl_->calls = impl_->failed = 0;
    impl_->healed = false;
}

void FaultyDisk::fail_elsewhere(std::int64_t number) {
    impl_->left_elsewhere = number;
}

bool FaultyDisk::failed_elsewhere() const {
    return impl_->left_elsewhere == 0;
}

void FaultyDisk::heal() {
    impl_->healed = true;
}

std::int64_t FaultyDisk::calls() const {
    return impl_->calls;
}

std::int64_t FaultyDisk::failed() const {
    return impl_->failed;
}

FaultyDisk::Pause::Pause(FaultyDisk* disk) : disk_(disk) {
    if (disk_ != nullptr) ++disk_->impl_->pauses;
}

FaultyDisk::Pause::~Pause() {
    if (disk_ != nullptr) --disk_->impl_->pauses;
}

}  // namespace kab::test
