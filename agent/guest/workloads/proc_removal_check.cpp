// The entry and its control file are made by patches/linux-6.1/proc-read/test.
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <optional>

#include "agent/guest/text.h"
#include "agent/guest/workloads/checked_child.h"
#include "agent/guest/workloads/proc_check.h"
#include "common/files.h"
#include "common/units.h"

namespace kab::guest {
namespace {

constexpr const char* entry = "/proc/kab_removable";
constexpr const char* control = "/proc/kab_removable_control";
constexpr const char* content = "removable\n";
constexpr int openers = 2;  // processes that open and close it until it is gone
/// Far longer than anything here takes, even emulated on a busy machine.
constexpr Nanoseconds patience = std::chrono::seconds(60);

Status tell_kernel(const char* command) {
    auto fd = open_file(control, O_WRONLY);
    if (!fd)
        return fail(Fault::io,
                    "{} (the kernel needs the test-only patch of patches/linux-6.1/proc-read/test: add it to "
                    "'debug.patches', and 'only: debug' to this check)",
                    fd.error().text());
    if (auto written = write_all(fd->get(), command); !written)
        return fail(Fault::io, "{} {}: {}", control, command, written.error().text());
    return {};
}

/// A figure of the control file: "inside", "open", "early".
Result<std::int64_t> ask_kernel(const char* what) {
    const auto text = read_file(control);
    if (!text) return pass(text);
    const auto value = parse_integer(field(*text, what));
    if (!value) return fail(Fault::io, "{} says nothing of '{}'", control, what);
    return *value;
}

Status expect(const char* what, std::int64_t expected, const char* meaning) {
    const auto found = ask_kernel(what);
    if (!found) return pass(found);
    if (*found == expected) return {};
    return fail(Fault::io, "{}: {}, expected {}", meaning, *found, expected);
}

/// One read of at most 100 bytes.
Result<std::string> read_once(int fd) {
    char buffer[100];
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0) return fail_errno(errno, std::string("read ") + entry);
    return std::string(buffer, static_cast<std::size_t>(got));
}

/// Stays inside its read until the kernel is told to let readers go.
Status read_blocked() {
    const auto fd = open_file(entry, O_RDONLY);
    if (!fd) return pass(fd);
    const auto text = read_once(fd->get());
    if (!text) return pass(text);
    if (*text != content)
        return fail(Fault::io, "a reader inside the entry while it was removed read {} bytes, expected '{}'",
                    text->size(), trim(content));
    return {};
}

Status open_until_gone() {
    const std::int64_t deadline_ns = raw_clock_ns() + patience.count();
    while (raw_clock_ns() < deadline_ns) {
        const UniqueFd fd(::open(entry, O_RDONLY | O_CLOEXEC));
        if (fd.get() >= 0) continue;
        if (errno == ENOENT) return {};
        return fail_errno(errno, std::string("open ") + entry + " while it is removed, expected success or ENOENT,");
    }
    return fail(Fault::timeout, "{} is there {} after its removal was asked for", entry, format_duration(patience));
}

/// One round: make the entry, fill it with readers, remove it, let the readers go.
class Round {
  public:
    explicit Round(std::int64_t readers) : readers_(readers) {}

    Status carry_out() {
        if (auto added = tell_kernel("add"); !added) return added;
        holder_ = UniqueFd(::open(entry, O_RDONLY | O_CLOEXEC));
        if (holder_.get() < 0) return fail_errno(errno, std::string("open ") + entry);
        if (auto inside = fill(); !inside) return inside;
        if (auto begun = begin_removal(); !begun) return begun;
        if (auto waits = removal_waits(); !waits) return waits;
        if (auto released = tell_kernel("release"); !released) return released;
        for (auto& process : processes_)
            if (auto ended = process.wait(); !ended) return ended;
        return nothing_is_left();
    }

  private:
    Status start(std::string name, const std::function<Status()>& work) {
        auto process = CheckedChild::start(std::move(name), work);
        if (!process) return pass(process);
        processes_.push_back(std::move(*process));
        return {};
    }

    Status fill() {
        for (std::int64_t i = 0; i < readers_; ++i)
            if (auto started = start(fmt::format("reader {} of {}", i + 1, readers_), read_blocked); !started)
                return started;
        const std::int64_t deadline_ns = raw_clock_ns() + patience.count();
        for (;;) {
            const auto inside = ask_kernel("inside");
            if (!inside) return pass(inside);
            if (*inside == readers_) return {};
            if (auto waiting = none_has_ended(); !waiting) return waiting;
            if (raw_clock_ns() >= deadline_ns)
                return fail(Fault::timeout, "{} of {} readers are inside {} after {}", *inside, readers_, entry,
                            format_duration(patience));
            ::sched_yield();
        }
    }

    /// A reader that comes out before it is let go will not be inside again.
    Status none_has_ended() {
        for (auto& process : processes_) {
            const auto ended = process.has_ended();
            if (!ended) return pass(ended);
            if (!*ended) continue;
            if (auto how = process.wait(); !how) return how;
            return fail(Fault::io, "a reader left {} before it was let go", entry);
        }
        return {};
    }

    Status begin_removal() {
        auto removed = Shared<std::atomic<bool>>::make();
        if (!removed) return pass(removed);
        removed_.emplace(std::move(*removed));
        for (int i = 0; i < openers; ++i)
            if (auto started = start(fmt::format("opener {}", i + 1), open_until_gone); !started) return started;
        auto& done = *removed_->operator->();
        if (auto started = start("the remover",
                                 [&done] {
                                     Status removal = tell_kernel("remove");
                                     done = true;
                                     return removal;
                                 });
            !started)
            return started;
        return open_until_gone();
    }

    /// The entry cannot be found any more, so its removal has begun; readers are inside, so it may not end.
    Status removal_waits() {
        ::usleep(20000);  // what does not wait is done by then; if it is not, the kernel's own count tells below
        if (removed_->operator->()->load())
            return fail(Fault::io, "the removal of {} is done with {} readers inside, expected it to wait for them",
                        entry, readers_);
        return expect("inside", readers_, "readers inside the entry during its removal");
    }

    Status nothing_is_left() {
        if (auto none = expect("early", 0, "removals that did not wait for the readers inside"); !none) return none;
        if (auto none = expect("inside", 0, "readers inside after the removal"); !none) return none;
        if (auto none = expect("open", 0, "opens less releases after the removal"); !none) return none;
        char byte = 0;
        const ssize_t late = ::read(holder_.get(), &byte, 1);
        if (late >= 0) return fail(Fault::io, "a descriptor of the removed entry can be read, expected EIO");
        if (errno != EIO) return fail_errno(errno, "read of a descriptor of the removed entry, expected EIO,");
        holder_.reset();
        if (auto none = expect("open", 0, "opens less releases after the last close"); !none) return none;
        return open_until_gone();
    }

    std::int64_t readers_;
    UniqueFd holder_;  ///< opened before the removal, closed after it
    std::optional<Shared<std::atomic<bool>>> removed_;
    std::vector<CheckedChild> processes_;
};

class ProcRemovalCheck final : public Workload {
  public:
    Status prepare(const RunContext&) override { return {}; }

    Result<std::vector<msg::Sample>> run(const RunContext& context, Meter& meter) override {
        if (auto started = meter.start(); !started) return pass(started);
        for (std::int64_t i = 0; i < context.parameter("rounds"); ++i) {
            Round round(context.parameter("readers"));
            if (auto done = round.carry_out(); !done)
                return fail(Fault::io, "round {}: {}", i + 1, done.error().text());
        }
        if (auto stopped = meter.stop(); !stopped) return pass(stopped);
        return std::vector<msg::Sample>();
    }

    Result<std::vector<msg::Sample>> drain(const RunContext&, const Meter&) override {
        return std::vector<msg::Sample>();
    }
};

}  // namespace

std::unique_ptr<Workload> make_proc_removal_check() {
    return std::make_unique<ProcRemovalCheck>();
}

}  // namespace kab::guest
