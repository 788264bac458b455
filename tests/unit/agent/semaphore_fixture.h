#pragma once
// What a test of semaphores must leave behind: nothing.
#include <sys/ipc.h>
#include <sys/sem.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <thread>

namespace kab::guest {

/// Identifiers of all semaphore sets of this IPC namespace.
inline std::set<int> semaphore_sets() {
    std::ifstream file("/proc/sysvipc/sem");
    std::set<int> ids;
    std::string line;
    std::getline(file, line);  // names of the columns
    while (std::getline(file, line)) {
        long key = 0;
        int id = 0;
        if (std::istringstream(line) >> key >> id) ids.insert(id);
    }
    return ids;
}

/// Sets that were not there `before` and stay. Those of tests that run beside this one go away; what we leaked does
/// not.
inline std::set<int> semaphore_sets_left(const std::set<int>& before) {
    const auto since = [](const std::set<int>& now, const std::set<int>& then) {
        std::set<int> more;
        std::set_difference(now.begin(), now.end(), then.begin(), then.end(), std::inserter(more, more.end()));
        return more;
    };
    auto left = since(semaphore_sets(), before);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!left.empty() && std::chrono::steady_clock::now() < end) {
        std::this_thread::yield();
        std::set<int> still;
        const auto now = semaphore_sets();
        std::set_intersection(left.begin(), left.end(), now.begin(), now.end(), std::inserter(still, still.end()));
        left = std::move(still);
    }
    return left;
}

/// Takes away sets that were not there `before`, have that many semaphores and were used: a number that no other test
/// has.
inline void remove_used_sets(const std::set<int>& before, unsigned long semaphores) {
    for (const int id : semaphore_sets()) {
        semid_ds state{};
        if (before.contains(id) || ::semctl(id, 0, IPC_STAT, &state) != 0) continue;
        if (state.sem_nsems == semaphores && state.sem_otime != 0) (void)::semctl(id, 0, IPC_RMID);
    }
}

}  // namespace kab::guest
