// What the security module refuses: Smack compares the label of a task with that of the set.
#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "agent/guest/text.h"
#include "agent/guest/workloads/sem_check_parts.h"
#include "common/files.h"

namespace kab::guest::sem_check {
namespace {

/// Of the calling task. Smack's own, so that no other module's label is taken for one; EINVAL without Smack.
constexpr const char* label_file = "/proc/thread-self/attr/smack/current";

constexpr unsigned nobody = 65534;
constexpr std::string_view owner = "kab-owner", other = "kab-other";

bool is_expected() {
    const auto line = read_text("/proc/cmdline").value_or("");
    for (const char* key : {"lsm", "security"})
        if (("," + std::string(command_line_value(line, key)) + ",").find(",smack,") != std::string::npos) return true;
    return false;
}

/// The calling task has this label from now on. errno, or 0.
int take_label(std::string_view label) {
    const UniqueFd file(::open(label_file, O_WRONLY | O_CLOEXEC));
    if (!file) return errno;
    const auto written = ::write(file.get(), label.data(), label.size());
    if (written < 0) return errno;
    return static_cast<std::size_t>(written) == label.size() ? 0 : EIO;
}

/// A set whose mode lets everybody do everything, labelled as its maker; the caller's label is the old one again.
Result<SemaphoreSet> make_labelled_set(const std::string& old) {
    if (const int error = take_label(owner); error != 0) return fail_errno(error, "write of a label");
    auto set = SemaphoreSet::make(2, 1, 0666);
    if (const int error = take_label(old); error != 0) return fail_errno(error, "write of the old label");
    return set;
}

/// As an ordinary user, whom no capability lets past the module. In a task.
TaskResult as_labelled_user(int set, std::string_view label, int wanted) {
    if (const int error = take_label(label); error != 0) return TaskFailure{"write of a label in a task", error};
    if (::setgroups(0, nullptr) != 0) return TaskFailure{"setgroups", errno};
    if (::setresgid(nobody, nobody, nobody) != 0) return TaskFailure{"setresgid", errno};
    if (::setresuid(nobody, nobody, nobody) != 0) return TaskFailure{"setresuid", errno};
    unsigned short values[] = {1, 1};
    sembuf two[] = {{0, 1, 0}, {1, 1, 0}};
    semid_ds state{};
    const struct {
        const char* what;
        int got, wanted;
    } calls[] = {
        {"semop +1 by a labelled user", change_semaphore(set, 0, 1), wanted},
        {"semop of two by a labelled user", errno_of(::semop(set, two, 2)), wanted},
        {"semop 0 by a labelled user", change_semaphore(set, 0, 0, IPC_NOWAIT), wanted == 0 ? EAGAIN : wanted},
        {"semctl SETVAL by a labelled user", errno_of(::semctl(set, 0, SETVAL, 1)), wanted},
        {"semctl SETALL by a labelled user", errno_of(::semctl(set, 0, SETALL, values)), wanted},
        {"semctl GETVAL by a labelled user", errno_of(::semctl(set, 0, GETVAL)), wanted},
        {"semctl GETALL by a labelled user", errno_of(::semctl(set, 0, GETALL, values)), wanted},
        {"semctl IPC_STAT by a labelled user", errno_of(::semctl(set, 0, IPC_STAT, &state)), wanted},
    };
    for (const auto& call : calls)
        if (auto bad = expect_in_task(call.what, call.got, call.wanted)) return bad;
    return {};
}

}  // namespace

Status refusals_by_label() {
    const auto label = read_text(label_file);
    if (!label) {
        if (!is_expected()) return {};
        return fail(Fault::io,
                    "the command line asks for Smack and {} cannot be read: CONFIG_SECURITY_SMACK is missing",
                    label_file);
    }
    // The label may end in the 0 of a C string.
    const std::string old(trim(std::string_view(label->c_str())));
    auto set = make_labelled_set(old);
    if (!set) return pass(set);
    const int id = set->id();
    // The same user with the label of the set shows that it is the label that decides.
    for (const bool same : {true, false}) {
        auto task = start_task([&] { return as_labelled_user(id, same ? owner : other, same ? 0 : EACCES); });
        if (!task) return pass(task);
        if (auto good = finish(*task); !good)
            return fail(Fault::io, "{} label: {}", same ? "the set's" : "another", good.error().text());
    }
    return set->remove();
}

}  // namespace kab::guest::sem_check
