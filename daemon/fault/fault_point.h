#pragma once
// Named places at which a test kills kabd: it sends itself SIGKILL, as any other process might at that moment.
//
// KAB_FAULT_POINT=NAME[:N] arms the N-th passing of one of them (N from 1, 1 where it is left out); `kabd
// --fault-points` lists them all. Compiled in with -DKAB_FAULT_POINTS=ON only: without it nothing is left of them.
// On the daemon's one thread; passings are counted from the start of the process.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/result.h"

namespace kab {

struct FaultPoint {
    std::string_view name, when;
};

/// The last ones are the transitions and commands of coordinator/core: a new one there does not compile without its
/// own.
inline constexpr auto fault_points = std::to_array<FaultPoint>({
    {"start.locked", "the state directory is ours, nothing is opened"},
    {"start.migrating", "the tables of a new database are made, not committed"},
    {"start.migrated", "a new database is committed"},
    {"start.read", "what is unfinished was read, nothing is changed"},
    {"start.inputs-swept", "inputs of evaluations that have ended are removed"},
    {"start.taken-up", "what was under way is asked for again, artifacts are not swept"},
    {"start.swept", "artifacts without a row are removed, the host is not started"},
    {"start.serving", "the socket listens"},
    {"end.stopped", "host and builder are ended, the database is not folded"},
    {"store.filled", "all rows of a transaction are written, it is not committed"},
    {"store.committed", "a transaction is committed"},

    {"submit.inputs-written", "the inputs are on disk, the evaluation is not stored"},
    {"submit.stored", "the evaluation is stored and asked for, its uid is not answered"},
    {"freeze.arm-known", "the key of one arm's kernel is known, not stored"},
    {"freeze.inputs-removed", "all keys are stored and the inputs removed"},
    {"build.done", "kab-build has built a kernel, which is not stored"},
    {"boot.folder-made", "the folder of its console is made, the boot waits for the machine"},
    {"boot.given-up", "a boot that waited for the machine no longer does, which is not stored"},
    {"host.up", "the host said hello, which is not stored"},
    {"host.lost", "the host is gone, which is not stored"},
    {"boot.hello", "the guest said hello, which is not stored"},
    {"run.finished", "a run's samples have come, they are not stored"},
    {"run.stored", "a run's samples are stored, the host is not told"},
    {"run.acknowledged", "the host was told that a run's samples are stored"},
    {"run.refused", "what the host sent is refused, the attempt is not cancelled"},
    {"boot.finished", "the end of a boot was told, nothing is decided"},
    {"boot.console-kept", "a console is synced and its digest taken, its row is not stored"},
    {"look.taken", "the analysis is made, nothing of it is stored"},

    {"set-evaluation.decided", "decided, not stored"},
    {"set-evaluation.committed", "stored, not acted on"},
    {"set-arm.decided", "decided, not stored"},
    {"set-arm.committed", "stored, not acted on"},
    {"add-block.decided", "decided, not stored"},
    {"add-block.committed", "stored, not acted on"},
    {"set-block.decided", "decided, not stored"},
    {"set-block.committed", "stored, not acted on"},
    {"add-boot.decided", "decided, not stored"},
    {"add-boot.committed", "stored, not acted on"},
    {"set-boot.decided", "decided, not stored"},
    {"set-boot.committed", "stored, not acted on"},
    {"seal-plan.decided", "decided, not stored"},
    {"seal-plan.committed", "stored, not acted on"},
    {"add-attempt.decided", "decided, not stored"},
    {"add-attempt.committed", "stored, not acted on"},
    {"finish-attempt.decided", "decided, not stored"},
    {"finish-attempt.committed", "stored, not acted on"},
    {"accept-attempt.decided", "decided, not stored"},
    {"accept-attempt.committed", "stored, not acted on"},
    {"freeze.carried-out", "ordered, nothing heard of it"},
    {"build.carried-out", "ordered, nothing heard of it"},
    {"stop-builder.carried-out", "ordered, nothing heard of it"},
    {"dispatch.carried-out", "ordered, nothing heard of it"},
    {"cancel-attempt.carried-out", "ordered, nothing heard of it"},
    {"analyse.carried-out", "ordered, nothing heard of it"},
});

/// The place of a name in the table. One that is not in it does not compile.
class FaultPointName {
  public:
    consteval FaultPointName(const char* name) {
        const std::string_view wanted(name);
        while (index < fault_points.size() && fault_points[index].name != wanted) ++index;
        if (index == fault_points.size()) throw "no such fault point: add it to the table";
    }
    std::size_t index = 0;
};

#ifdef KAB_FAULT_POINTS
/// Does not return where it is armed.
void fault_point(FaultPointName point);
/// As KAB_FAULT_POINT says. Fault::usage for a name that is not in the table and for a number that is none.
Status arm_fault_point();
/// How often a point was passed in this process, by its place in the table.
std::int64_t fault_point_passings(std::size_t index);
#else
inline void fault_point(FaultPointName) {}
#endif

}  // namespace kab
