#include "agent/host/qemu/scratch.h"

#include <cstdlib>

namespace kab::qemu {
namespace {

constexpr std::string_view prefix = "kab-host-";
constexpr auto young = std::chrono::minutes(1);  ///< perhaps just being made

fs::path parent_directory() {
    const char* configured = std::getenv("TMPDIR");
    return configured != nullptr && *configured != '\0' ? configured : "/tmp";
}

}  // namespace

Result<Scratch> Scratch::make() {
    auto directory = TempDir::make(prefix, parent_directory());
    if (!directory) return pass(directory);
    auto lock = FileLock::try_take(directory->path() / "lock");
    if (!lock) return pass(lock);
    return Scratch(std::move(*directory), std::move(*lock));
}

void sweep_scratch() {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(parent_directory(), error)) {
        const auto name = entry.path().filename().string();
        if (!name.starts_with(prefix) || !entry.is_directory(error)) continue;
        const auto lock_file = entry.path() / "lock";
        const auto made = fs::last_write_time(lock_file, error);
        if (error || fs::file_time_type::clock::now() - made < young) continue;
        const auto lock = FileLock::try_take(lock_file);
        if (lock) fs::remove_all(entry.path(), error);
    }
}

}  // namespace kab::qemu
