#pragma once
// Waiting for a word in shared memory to change (futex(2)).
#include <atomic>
#include <cstdint>
#include <optional>

#include "common/clock.h"
#include "common/result.h"

namespace kab::guest {

using FutexWord = std::atomic<std::uint32_t>;
static_assert(sizeof(FutexWord) == sizeof(std::uint32_t) && FutexWord::is_always_lock_free);

/// Sleeps while the word is `value`, until a wake or for `limit` at most. May return early: look again.
/// errno of a failed call; 0 otherwise. Does nothing that is not safe after fork().
int futex_wait(FutexWord& word, std::uint32_t value, std::optional<Nanoseconds> limit = {});

/// Wakes all who wait for it.
int futex_wake_all(FutexWord& word);

}  // namespace kab::guest
