// Store: reading evaluations and their parts.
#include <algorithm>
#include <cctype>

#include "common/suggest.h"
#include "daemon/store/impl.h"

namespace kab::store {
namespace {

constexpr std::size_t least_prefix = 4;

/// Everything but the long texts, in the order of read_evaluation().
#define KAB_EVALUATION_COLUMNS                                                                                    \
    "evaluation.id, evaluation.uid, experiment.name, evaluation.question, evaluation.status, evaluation.detail, " \
    "evaluation.fault, evaluation.verdict, evaluation.spec_hash, evaluation.plan_hash, evaluation.seed, "         \
    "evaluation.looks_done, "                                                                                     \
    "evaluation.created_at, evaluation.started_at, evaluation.finished_at, evaluation.spec_file, "                \
    "evaluation.spec_text, "                                                                                      \
    "evaluation.plan_text, evaluation.experiment_json "                                                           \
    "FROM evaluation JOIN experiment ON experiment.id = evaluation.experiment_id "

void read_evaluation(const Statement& s, EvaluationRow& row) {
    s.read(row.id, row.uid, row.experiment, row.question, row.status, row.detail, row.fault, row.verdict, row.spec_hash,
           row.plan_hash, row.seed, row.looks_done, row.created_at, row.started_at, row.finished_at, row.spec_file,
           row.spec_text, row.plan_text, row.experiment_json);
}

Result<std::optional<EvaluationRow>> first(Statement& query) {
    const auto found = query.next();
    if (!found) return pass(found);
    if (!*found) return std::optional<EvaluationRow>();
    EvaluationRow row;
    read_evaluation(query, row);
    return std::optional<EvaluationRow>(std::move(row));
}

std::string upper(const std::string& text) {
    std::string result = text;
    std::transform(result.begin(), result.end(), result.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return result;
}

Result<std::vector<std::string>> texts(Statement& query) {
    return collect<std::string>(query, [](const Statement& s, std::string& text) { s.read(text); });
}

Result<EvaluationRow> none_of_that_name(Database& database, const std::string& name) {
    auto names = database.statement("list experiments", "SELECT name FROM experiment ORDER BY name");
    const auto known = texts(names);
    if (!known) return pass(known);
    if (known->empty()) return fail(Fault::not_found, "no evaluation '{}': there is none yet", name);
    auto near = suggest(name, *known);
    if (near.empty()) {
        auto uids =
            database.statement("list evaluations", "SELECT uid FROM evaluation ORDER BY created_at DESC LIMIT 1000");
        const auto all = texts(uids);
        if (!all) return pass(all);
        const auto begins = [&](const std::string& uid) { return uid.starts_with(upper(name)); };
        if (name.size() < least_prefix && std::any_of(all->begin(), all->end(), begins))
            return fail(
                Fault::not_found,
                "no evaluation '{}': the beginning of a uid needs four characters or more; `kab list` shows all", name);
        if (name.size() >= least_prefix) near = suggest(upper(name), *all);
    }
    if (near.empty()) return fail(Fault::not_found, "no evaluation '{}'; `kab list` shows all", name);
    return fail(Fault::not_found, "no evaluation '{}'; did you mean '{}'? `kab list` shows all", name, near);
}

Result<std::optional<EvaluationRow>> by_prefix(Database& database, const std::string& name) {
    const auto prefix = upper(name);
    const bool possible = prefix.size() >= least_prefix &&
                          std::all_of(prefix.begin(), prefix.end(), [](unsigned char c) { return std::isalnum(c); });
    if (!possible) return std::optional<EvaluationRow>();
    auto query = database.statement("find an evaluation by the start of its uid",
                                    "SELECT " KAB_EVALUATION_COLUMNS
                                    "WHERE evaluation.uid >= ?1 AND evaluation.uid < ?1 || 'a' "
                                    "ORDER BY evaluation.uid DESC");
    const auto rows = collect<EvaluationRow>(query.bind(prefix), read_evaluation);
    if (!rows) return pass(rows);
    if (rows->empty()) return std::optional<EvaluationRow>();
    if (rows->size() > 1)
        return fail(Fault::usage, "'{}' is the start of {} evaluations, such as {} and {}: give more of it", name,
                    rows->size(), (*rows)[0].uid, (*rows)[1].uid);
    return std::optional<EvaluationRow>(rows->front());
}

Status read_blocks(Database& database, EvaluationTree& tree) {
    const auto id = tree.evaluation.id;
    auto blocks =
        database.statement("read the blocks",
                           "SELECT id, number, repetition, status, detail, cause, started_at, finished_at FROM block "
                           "WHERE evaluation_id = ? ORDER BY number, repetition");
    auto block_rows = collect<BlockRow>(blocks.bind(id), [](const Statement& s, BlockRow& row) {
        s.read(row.id, row.number, row.repetition, row.status, row.detail, row.cause, row.started_at, row.finished_at);
    });
    if (!block_rows) return pass(block_rows);
    tree.blocks = std::move(*block_rows);

    auto boots = database.statement(
        "read the boots",
        "SELECT boot.id, boot.block_id, boot.position, boot.uid, arm.name, boot.status, boot.outcome, boot.detail, "
        "boot.accepted_attempt_id FROM boot JOIN block ON block.id = boot.block_id JOIN arm ON arm.id = boot.arm_id "
        "WHERE block.evaluation_id = ? ORDER BY block.number, block.repetition, boot.position");
    auto boot_rows = collect<BootRow>(boots.bind(id), [](const Statement& s, BootRow& row) {
        s.read(row.id, row.block_id, row.position, row.uid, row.arm, row.status, row.outcome, row.detail,
               row.accepted_attempt_id);
    });
    if (!boot_rows) return pass(boot_rows);
    tree.boots = std::move(*boot_rows);

    auto attempts = database.statement(
        "read the attempts",
        "SELECT attempt.id, attempt.boot_id, attempt.number, attempt.uid, attempt.status, attempt.outcome, "
        "attempt.detail, host.name, attempt.accel, attempt.lost, attempt.dispatched_at, attempt.finished_at "
        "FROM attempt JOIN boot ON boot.id = attempt.boot_id JOIN block ON block.id = boot.block_id "
        "JOIN host ON host.id = attempt.host_id WHERE block.evaluation_id = ? "
        "ORDER BY block.number, block.repetition, boot.position, attempt.number");
    auto attempt_rows = collect<AttemptRow>(attempts.bind(id), [](const Statement& s, AttemptRow& row) {
        s.read(row.id, row.boot_id, row.number, row.uid, row.status, row.outcome, row.detail, row.host, row.accel,
               row.lost, row.dispatched_at, row.finished_at);
    });
    if (!attempt_rows) return pass(attempt_rows);
    tree.attempts = std::move(*attempt_rows);
    return {};
}

Status read_arms(Database& database, EvaluationTree& tree) {
    auto arms = database.statement(
        "read the arms",
        "SELECT arm.id, arm.evaluation_id, arm.position, arm.name, coalesce(against.name, ''), arm.status, arm.detail, "
        "arm.kernel_request, arm.control, arm.role, arm.kernel_id FROM arm LEFT JOIN arm AS against ON against.id = "
        "arm.against_id "
        "WHERE arm.evaluation_id = ? ORDER BY arm.position");
    auto arm_rows = collect<ArmRow>(arms.bind(tree.evaluation.id), [](const Statement& s, ArmRow& row) {
        s.read(row.id, row.evaluation_id, row.position, row.name, row.against, row.status, row.detail,
               row.kernel_request, row.control, row.role, row.kernel_id);
    });
    if (!arm_rows) return pass(arm_rows);
    tree.arms = std::move(*arm_rows);

    auto points = database.statement(
        "read the points", "SELECT workload, number, label, parameters FROM point WHERE evaluation_id = ? ORDER BY id");
    auto point_rows = collect<NewPoint>(points.bind(tree.evaluation.id), [](const Statement& s, NewPoint& row) {
        s.read(row.workload, row.number, row.label, row.parameters);
    });
    if (!point_rows) return pass(point_rows);
    tree.points = std::move(*point_rows);

    auto metrics = database.statement(
        "read the metrics",
        "SELECT workload, name, unit, better, scale FROM metric WHERE evaluation_id = ? ORDER BY id");
    auto metric_rows = collect<NewMetric>(metrics.bind(tree.evaluation.id), [](const Statement& s, NewMetric& row) {
        s.read(row.workload, row.name, row.unit, row.better, row.scale);
    });
    if (!metric_rows) return pass(metric_rows);
    tree.metrics = std::move(*metric_rows);
    return {};
}

Result<EvaluationRow> by_uid(Database& database, const std::string& uid) {
    auto query = database.statement("read the evaluation", "SELECT " KAB_EVALUATION_COLUMNS "WHERE evaluation.uid = ?");
    auto row = first(query.bind(uid));
    if (!row) return pass(row);
    if (!*row) return fail(Fault::not_found, "evaluation {}: not in the database", uid);
    return std::move(**row);
}

}  // namespace

Result<std::vector<EvaluationRow>> Store::evaluations(int limit) const {
    auto query = impl_->database->statement(
        "list evaluations",
        "SELECT evaluation.id, evaluation.uid, experiment.name, evaluation.question, evaluation.status, "
        "evaluation.detail, evaluation.fault, evaluation.verdict, evaluation.spec_hash, evaluation.plan_hash, "
        "evaluation.seed, "
        "evaluation.looks_done, evaluation.created_at, evaluation.started_at, evaluation.finished_at, '', '', '' "
        "FROM evaluation JOIN experiment ON experiment.id = evaluation.experiment_id "
        "ORDER BY evaluation.created_at DESC, evaluation.id DESC LIMIT ?");
    return collect<EvaluationRow>(query.bind(std::int64_t{limit}), read_evaluation);
}

Result<std::vector<EvaluationRow>> Store::unfinished_evaluations() const {
    auto query = impl_->database->statement("list unfinished evaluations",
                                            "SELECT " KAB_EVALUATION_COLUMNS
                                            "WHERE evaluation.finished_at IS NULL OR EXISTS (SELECT 1 "
                                            "FROM attempt JOIN boot ON boot.id = attempt.boot_id "
                                            "JOIN block ON block.id = boot.block_id "
                                            "WHERE block.evaluation_id = evaluation.id AND "
                                            "attempt.status = 'dispatched') "
                                            "ORDER BY evaluation.created_at, evaluation.id");
    return collect<EvaluationRow>(query, read_evaluation);
}

Result<std::set<std::string>> Store::artifact_paths() const {
    auto query = impl_->database->statement("list artifacts", "SELECT path FROM artifact");
    const auto paths = texts(query);
    if (!paths) return pass(paths);
    return std::set<std::string>(paths->begin(), paths->end());
}

Result<EvaluationRow> Store::find_evaluation(const std::string& name) const {
    auto& database = *impl_->database;
    ReadTransaction snapshot(database);
    if (auto begun = snapshot.begin(); !begun) return pass(begun);
    if (name.empty()) return fail(Fault::usage, "name an evaluation: its uid, its experiment, or last");
    {
        auto query = database.statement("find the evaluation",
                                        "SELECT " KAB_EVALUATION_COLUMNS
                                        "WHERE evaluation.uid = ?1 OR experiment.name = ?2 OR ?2 = 'last' "
                                        "ORDER BY evaluation.uid = ?1 DESC, evaluation.created_at DESC, "
                                        "evaluation.id DESC LIMIT 1");
        auto row = first(query.bind(upper(name), name));
        if (!row) return pass(row);
        if (*row) return std::move(**row);
    }
    auto row = by_prefix(database, name);
    if (!row) return pass(row);
    if (*row) return std::move(**row);
    return none_of_that_name(database, name);
}

Result<std::optional<std::string>> Store::evaluation_of_key(const std::string& idempotency_key) const {
    auto query = impl_->database->statement("look up an idempotency key",
                                            "SELECT uid FROM evaluation WHERE idempotency_key = ?");
    const auto found = query.bind(idempotency_key).next();
    if (!found) return pass(found);
    if (!*found) return std::optional<std::string>();
    std::string uid;
    query.read(uid);
    return std::optional<std::string>(std::move(uid));
}

Result<EvaluationTree> Store::tree(const std::string& evaluation_uid) const {
    auto& database = *impl_->database;
    ReadTransaction snapshot(database);
    if (auto begun = snapshot.begin(); !begun) return pass(begun);
    auto evaluation = by_uid(database, evaluation_uid);
    if (!evaluation) return pass(evaluation);
    EvaluationTree tree;
    tree.evaluation = std::move(*evaluation);
    if (auto done = read_arms(database, tree); !done) return pass(done);
    if (auto done = read_blocks(database, tree); !done) return pass(done);
    return tree;
}

}  // namespace kab::store
