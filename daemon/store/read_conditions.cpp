// Store: what the machine did beside the runs.
#include "daemon/store/impl.h"

namespace kab::store {
namespace {

#define KAB_CONDITION_COLUMNS                                                                                    \
    "arm.name, block.number, block.repetition, run.seq, run.kind, run.warmup, condition.name, condition.value, " \
    "coalesce(condition.reason, '') FROM condition JOIN run ON run.id = condition.run_id "                       \
    "JOIN attempt ON attempt.id = run.attempt_id JOIN boot ON boot.id = attempt.boot_id "                        \
    "JOIN arm ON arm.id = boot.arm_id JOIN block ON block.id = boot.block_id "

void read_condition(const Statement& s, ConditionRow& row) {
    s.read(row.arm, row.block, row.repetition, row.seq, row.kind, row.warmup, row.name, row.value, row.reason);
}

}  // namespace

Result<std::vector<ConditionRow>> Store::conditions(const std::string& evaluation_uid) const {
    auto query = impl_->database->statement(
        "read the conditions", "SELECT " KAB_CONDITION_COLUMNS
                               "JOIN evaluation ON evaluation.id = block.evaluation_id "
                               "WHERE evaluation.uid = ? AND block.status = 'complete' AND block.number > 0 "
                               "AND boot.accepted_attempt_id = attempt.id AND attempt.outcome = 'ok' "
                               "ORDER BY block.number, boot.position, run.seq, condition.name");
    return collect<ConditionRow>(query.bind(evaluation_uid), read_condition);
}

Result<std::vector<ConditionRow>> Store::block_conditions(const std::string& attempt_uid) const {
    auto query = impl_->database->statement(
        "read the block's conditions",
        "SELECT " KAB_CONDITION_COLUMNS
        "WHERE boot.block_id = (SELECT present.block_id FROM boot AS present JOIN attempt AS its "
        "ON its.boot_id = present.id WHERE its.uid = ?1) "
        "AND (boot.accepted_attempt_id = attempt.id OR attempt.uid = ?1) "
        "ORDER BY boot.position, run.seq, condition.name");
    return collect<ConditionRow>(query.bind(attempt_uid), read_condition);
}

Result<std::vector<std::int64_t>> Store::runs_of(const std::string& attempt_uid) const {
    auto query = impl_->database->statement("read the runs of an attempt",
                                            "SELECT run.seq FROM run JOIN attempt ON attempt.id = run.attempt_id "
                                            "WHERE attempt.uid = ? ORDER BY run.seq");
    query.bind(attempt_uid);
    std::vector<std::int64_t> runs;
    for (;;) {
        const auto row = query.next();
        if (!row) return pass(row);
        if (!*row) return runs;
        query.read(runs.emplace_back());
    }
}

}  // namespace kab::store
