#include "agent/guest/workloads/semop_multi.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ipc.h>
#include <sys/sem.h>

#include <atomic>
#include <cerrno>
#include <limits>
#include <optional>

#include "agent/guest/futex.h"
#include "agent/guest/workloads/semaphore_set.h"
#include "agent/guest/workloads/task_group.h"

namespace kab::guest {
namespace {

constexpr std::size_t stack_bytes = 64 * 1024;

/// What all threads look at; what each of them writes is a cache line apart.
struct Signals {
    alignas(64) FutexWord go{0};
    alignas(64) std::atomic<bool> stop{false};
    alignas(64) FutexWord ready{0};
    alignas(64) FutexWord done{0};
    std::size_t all = 0;  ///< threads
};

struct alignas(64) Thread {
    Signals* signals = nullptr;
    int set = 0, semaphore = 0, cpu = 0;
    std::int64_t most = 0;  ///< rounds
    // what it tells
    std::int64_t rounds = 0;
    const char* failed = nullptr;  ///< the call
    int error = 0;
    pthread_t handle{};
};

/// Only the last of them wakes: it alone is waited for.
void count_up(FutexWord& word, std::size_t all) {
    if (word.fetch_add(1, std::memory_order_acq_rel) + 1 == all) (void)futex_wake_all(word);
}

/// Takes and gives back; false when that failed.
bool one_round(Thread& thread) {
    const char* calls[] = {"semop (-1)", "semop (+1)"};
    for (int i = 0; i < 2; ++i) {
        if (const int error = change_semaphore(thread.set, thread.semaphore, i == 0 ? -1 : 1); error != 0) {
            thread.failed = calls[i];
            thread.error = error;
            return false;
        }
    }
    return true;
}

void work(Thread& thread) {
    Signals& signals = *thread.signals;
    while (signals.go.load(std::memory_order_acquire) == 0)
        if (const int error = futex_wait(signals.go, 0); error != 0) {
            thread.failed = "futex wait for the go";
            thread.error = error;
            return;
        }
    // One in any case: a thread that is woken after the end has a part in it, too, and a rate is never 0.
    std::int64_t rounds = 0;
    do {
        if (!one_round(thread)) break;
        ++rounds;
    } while (rounds < thread.most && !signals.stop.load(std::memory_order_relaxed));
    thread.rounds = rounds;
}

void* thread_main(void* argument) {
    auto& thread = *static_cast<Thread*>(argument);
    if (const int error = pin_to(thread.cpu); error != 0) {
        thread.failed = "sched_setaffinity";
        thread.error = error;
    }
    count_up(thread.signals->ready, thread.signals->all);
    if (thread.failed == nullptr) work(thread);
    // Others may wait for what a failed thread holds: without the set they do not.
    if (thread.failed != nullptr) (void)::semctl(thread.set, 0, IPC_RMID);
    count_up(thread.signals->done, thread.signals->all);
    return nullptr;
}

/// The set is gone, which a failed thread sees to.
bool is_consequence(const Thread& thread) {
    return thread.error == EIDRM || thread.error == EINVAL;
}

/// Before all threads of ordinary priority while this lives: neither the waking of hundreds of them nor the word to
/// stop waits until each has had its turn. Without the permission nothing changes.
class Ahead {
  public:
    Ahead() {
        const sched_param first{1};
        on_ = ::sched_getscheduler(0) == SCHED_OTHER && ::sched_setscheduler(0, SCHED_FIFO, &first) == 0;
    }
    Ahead(const Ahead&) = delete;
    ~Ahead() {
        const sched_param ordinary{0};
        if (on_) (void)::sched_setscheduler(0, SCHED_OTHER, &ordinary);  // to lower oneself is always allowed
    }

  private:
    bool on_;
};

/// Started threads; told to stop, and joined, with it.
class Threads {
  public:
    Threads(std::size_t count, const SemaphoreSet& set, const std::vector<int>& cpus, std::int64_t rounds)
        : set_(set.id()), threads_(count) {
        signals_.all = count;
        for (std::size_t i = 0; i < count; ++i) {
            auto& thread = threads_[i];
            thread.signals = &signals_;
            thread.set = set.id();
            thread.semaphore = static_cast<int>(i % static_cast<std::size_t>(set.size()));
            thread.cpu = cpus[i % cpus.size()];
            thread.most = rounds;
        }
    }
    Threads(const Threads&) = delete;
    ~Threads() {
        if (joined_) return;
        signals_.stop = true;
        go();
        (void)::semctl(set_, 0, IPC_RMID);  // wakes those that sleep
        join();
    }

    /// Returns when all wait for the go.
    Status start() {
        pthread_attr_t attributes;
        if (const int error = ::pthread_attr_init(&attributes); error != 0)
            return fail_errno(error, "pthread_attr_init");
        Status started;
        if (const int error = ::pthread_attr_setstacksize(&attributes, stack_bytes); error != 0)
            started = fail_errno(error, "pthread_attr_setstacksize");
        for (auto& thread : threads_) {
            if (!started) break;
            const int error = ::pthread_create(&thread.handle, &attributes, thread_main, &thread);
            if (error != 0)
                started = fail_errno(error, fmt::format("start of thread {} of {}", started_ + 1, threads_.size()));
            else
                ++started_;
        }
        (void)::pthread_attr_destroy(&attributes);
        if (!started) return started;
        return wait_for_all(signals_.ready, {});
    }

    void go() {
        signals_.go.store(1, std::memory_order_release);
        (void)futex_wake_all(signals_.go);
    }
    void stop() { signals_.stop.store(true, std::memory_order_relaxed); }

    /// Until all have stopped, or it is `end_ns` by raw_clock_ns().
    Status wait_until_done(std::optional<std::int64_t> end_ns = {}) { return wait_for_all(signals_.done, end_ns); }

    void join() {
        for (std::size_t i = 0; i < started_; ++i) (void)::pthread_join(threads_[i].handle, nullptr);
        joined_ = true;
    }

    /// After join(): rounds of all, or the first failure that was no consequence of another.
    Result<std::int64_t> rounds() const {
        std::int64_t sum = 0;
        std::size_t failed = 0;
        const Thread* first = nullptr;
        for (const auto& thread : threads_) {
            sum += thread.rounds;
            if (thread.failed == nullptr) continue;
            ++failed;
            if (first == nullptr || (is_consequence(*first) && !is_consequence(thread))) first = &thread;
        }
        if (first == nullptr) return sum;
        const auto what = fmt::format("{} in thread {}", first->failed, first - &threads_[0] + 1);
        return fail(Fault::io, "{} ({} of {} threads failed)", fail_errno(first->error, what).value().text(), failed,
                    threads_.size());
    }

  private:
    Status wait_for_all(FutexWord& word, std::optional<std::int64_t> end_ns) const {
        for (auto seen = word.load(); seen < threads_.size(); seen = word.load()) {
            const auto left = end_ns ? std::optional(Nanoseconds{*end_ns - raw_clock_ns()}) : std::nullopt;
            if (left && left->count() <= 0) return {};
            if (const int error = futex_wait(word, seen, left); error != 0) return fail_errno(error, "futex wait");
        }
        return {};
    }

    int set_;
    Signals signals_;
    std::vector<Thread> threads_;
    std::size_t started_ = 0;
    bool joined_ = false;
};

class SemopMulti final : public Workload {
  public:
    Status prepare(const RunContext& context) override {
        auto cpus = usable_cpus();
        if (!cpus) return pass(cpus);
        const auto wanted = static_cast<std::size_t>(context.parameter("cpus"));
        if (wanted > cpus->size())
            return fail(Fault::io, "{} CPUs are asked for and there are {}: lower 'cpus' or raise 'host.cpus'", wanted,
                        cpus->size());
        if (wanted > 0) cpus->resize(wanted);
        cpus_ = std::move(*cpus);
        threads_ = context.parameter("threads");
        semaphores_ = context.parameter("semaphores");
        initial_ = context.parameter("initial");
        if (initial_ == 0) initial_ = (threads_ + semaphores_ - 1) / semaphores_;
        const std::int64_t operations = context.parameter("operations");
        duration_.reset();
        rounds_ = (operations + 2 * threads_ - 1) / (2 * threads_);
        if (operations > 0) return {};
        duration_ = std::chrono::milliseconds(context.parameter("duration"));
        rounds_ = std::numeric_limits<std::int64_t>::max();
        return {};
    }

    Result<std::vector<msg::Sample>> run(const RunContext&, Meter& meter) override {
        auto set = SemaphoreSet::make(static_cast<int>(semaphores_), static_cast<int>(initial_));
        if (!set) return pass(set);
        Threads threads(static_cast<std::size_t>(threads_), *set, cpus_, rounds_);
        if (auto ready = threads.start(); !ready) return pass(ready);
        if (auto timed = time(threads, meter); !timed) return pass(timed);
        threads.join();
        const auto rounds = threads.rounds();
        if (!rounds) return pass(rounds);
        if (auto good = as_it_began(*set); !good) return pass(good);
        if (auto removed = set->remove(); !removed) return pass(removed);
        const auto operations = 2 * static_cast<double>(*rounds);
        return std::vector{sample("rate", operations / static_cast<double>(meter.elapsed_ns()) * 1e9),
                           sample("operations", operations)};
    }

    Result<std::vector<msg::Sample>> drain(const RunContext&, const Meter&) override {
        return std::vector<msg::Sample>{};  // every thread is joined and the set removed: nothing is left
    }

  private:
    /// The duration counts from the meter's start: waking the threads is part of it.
    Status time(Threads& threads, Meter& meter) const {
        const Ahead ahead;
        if (auto started = meter.start(); !started) return started;
        threads.go();
        const auto end_ns = duration_ ? std::optional(meter.started_ns() + duration_->count()) : std::nullopt;
        if (auto waited = threads.wait_until_done(end_ns); !waited) return waited;
        threads.stop();
        auto done = threads.wait_until_done();
        if (auto stopped = meter.stop(); !stopped) return stopped;
        return done;
    }

    Status as_it_began(const SemaphoreSet& set) const {
        const auto values = set.values();
        if (!values) return pass(values);
        for (std::size_t i = 0; i < values->size(); ++i)
            if ((*values)[i] != initial_)
                return fail(Fault::io, "semaphore {} of {} is {} after as much given back as taken, expected {}", i,
                            values->size(), (*values)[i], initial_);
        return {};
    }

    std::vector<int> cpus_;
    std::int64_t threads_ = 0, semaphores_ = 0, initial_ = 0;
    std::int64_t rounds_ = 0;  ///< of each thread, at most
    std::optional<Nanoseconds> duration_;
};

}  // namespace

std::unique_ptr<Workload> make_semop_multi() {
    return std::make_unique<SemopMulti>();
}

}  // namespace kab::guest
