#include "agent/guest/workloads/postwait.h"

#include <sys/mman.h>

#include <cerrno>

#include "agent/guest/workloads/semaphore_set.h"
#include "agent/guest/workloads/task_group.h"

namespace kab::guest {
namespace {

/// A read of every line brings the whole of it into the cache.
constexpr std::size_t line = 64;

/// Memory of the user's own, written once so that every page of it is there; it goes with the process.
char* take_memory(std::size_t bytes) {
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    auto* first = static_cast<char*>(memory);
    for (std::size_t at = 0; at < bytes; at += line) first[at] = 1;
    return first;
}

void scan(const volatile char* memory, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += line) (void)memory[at];
}

class Postwait final : public Workload {
  public:
    Status prepare(const RunContext& context) override {
        users_ = static_cast<std::uint32_t>(context.parameter("users"));
        loops_ = context.parameter("loops");
        bytes_ = static_cast<std::size_t>(context.parameter("scan")) * 1024;
        return {};
    }

    Result<std::vector<msg::Sample>> run(const RunContext&, Meter& meter) override {
        auto set = SemaphoreSet::make(static_cast<int>(users_));
        if (!set) return pass(set);
        auto users = TaskGroup::make(users_, false);
        if (!users) return pass(users);
        if (auto ready = users->start(body(set->id())); !ready) return pass(ready);
        if (auto started = meter.start(); !started) return pass(started);
        if (auto gone = users->go(); !gone) return pass(gone);
        const auto done = users->wait_until_done();
        if (auto stopped = meter.stop(); !stopped) return pass(stopped);
        if (!done) return pass(done);
        if (auto good = users->verdict(); !good) return pass(good);
        if (auto good = all_zero(*set); !good) return pass(good);
        if (auto removed = set->remove(); !removed) return pass(removed);
        const auto elapsed = static_cast<double>(meter.elapsed_ns());
        const double operations = 2.0 * static_cast<double>(users_) * static_cast<double>(loops_);
        return std::vector{sample("elapsed", elapsed), sample("rate", operations / elapsed * 1e9)};
    }

    Result<std::vector<msg::Sample>> drain(const RunContext&, const Meter&) override {
        return std::vector<msg::Sample>{};  // every user is reaped and the set removed: nothing is left
    }

  private:
    /// Each user is a process with a copy of all this.
    TaskBody body(int set) {
        return {[this](std::uint32_t) -> TaskResult {
                    if (bytes_ > 0 && (memory_ = take_memory(bytes_)) == nullptr)
                        return TaskFailure{"mmap of its memory", errno};
                    return {};
                },
                [this, set](std::uint32_t number) -> TaskResult {
                    const int own = static_cast<int>(number), next = static_cast<int>((number + 1) % users_);
                    for (std::int64_t i = 0; i < loops_; ++i) {
                        scan(memory_, bytes_);
                        if (const int error = change_semaphore(set, next, 1); error != 0)
                            return TaskFailure{"semop (post)", error};
                        if (const int error = change_semaphore(set, own, -1); error != 0)
                            return TaskFailure{"semop (wait)", error};
                    }
                    return {};
                }};
    }

    static Status all_zero(const SemaphoreSet& set) {
        const auto values = set.values();
        if (!values) return pass(values);
        for (std::size_t i = 0; i < values->size(); ++i)
            if ((*values)[i] != 0)
                return fail(Fault::io, "semaphore {} of {} is {} after as many posts as waits, expected 0", i,
                            values->size(), (*values)[i]);
        return {};
    }

    std::uint32_t users_ = 0;
    std::int64_t loops_ = 0;
    std::size_t bytes_ = 0;
    char* memory_ = nullptr;  ///< in a user
};

}  // namespace

std::unique_ptr<Workload> make_postwait() {
    return std::make_unique<Postwait>();
}

}  // namespace kab::guest
