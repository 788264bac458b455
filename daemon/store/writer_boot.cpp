// Writer: blocks, boots, attempts and what they measured.
#include "daemon/store/writer.h"

namespace kab::store {
namespace {

std::string block_name(std::int64_t number, std::int64_t repetition) {
    return repetition == 1 ? std::to_string(number) : fmt::format("{}.{}", number, repetition);
}

Result<std::int64_t> block_id(Database& database, const std::string& evaluation, std::int64_t number,
                              std::int64_t repetition) {
    auto query = database.statement("look up the block",
                                    "SELECT block.id FROM block JOIN evaluation ON evaluation.id = block.evaluation_id "
                                    "WHERE evaluation.uid = ? AND block.number = ? AND block.repetition = ?");
    return one_id(query.bind(evaluation, number, repetition), "block " + block_name(number, repetition));
}

/// An attempt and what it belongs to.
struct AttemptKey {
    std::int64_t id = 0, evaluation_id = 0;
    std::string evaluation, status;
};

Result<AttemptKey> find_attempt(Database& database, const std::string& uid) {
    auto query = database.statement("look up the attempt",
                                    "SELECT attempt.id, evaluation.id, evaluation.uid, attempt.status FROM attempt "
                                    "JOIN boot ON boot.id = attempt.boot_id JOIN block ON block.id = boot.block_id "
                                    "JOIN evaluation ON evaluation.id = block.evaluation_id WHERE attempt.uid = ?");
    const auto row = query.bind(uid).next();
    if (!row) return pass(row);
    if (!*row) return fail(Fault::not_found, "attempt {}: not in the database", uid);
    AttemptKey key;
    query.read(key.id, key.evaluation_id, key.evaluation, key.status);
    return key;
}

Result<std::string> evaluation_of_boot(Database& database, const std::string& boot) {
    auto query = database.statement("look up the boot",
                                    "SELECT evaluation.uid FROM boot JOIN block ON block.id = boot.block_id "
                                    "JOIN evaluation ON evaluation.id = block.evaluation_id WHERE boot.uid = ?");
    const auto row = query.bind(boot).next();
    if (!row) return pass(row);
    if (!*row) return fail(Fault::not_found, "boot {}: not in the database", boot);
    std::string uid;
    query.read(uid);
    return uid;
}

/// 0 when there is no such run.
Result<std::int64_t> run_id(Database& database, std::int64_t attempt_id, std::int64_t seq) {
    auto query = database.statement("look up the run", "SELECT id FROM run WHERE attempt_id = ? AND seq = ?");
    const auto row = query.bind(attempt_id, seq).next();
    if (!row) return pass(row);
    std::int64_t id = 0;
    if (*row) query.read(id);
    return id;
}

Status add_samples(Database& database, const AttemptKey& attempt, std::int64_t run, const NewRun& new_run) {
    for (const auto& sample : new_run.samples) {
        auto query = database.statement("look up the metric",
                                        "SELECT id FROM metric WHERE evaluation_id = ? AND workload = ? AND name = ?");
        const auto metric = one_id(query.bind(attempt.evaluation_id, new_run.workload, sample.metric),
                                   fmt::format("metric {}/{}", new_run.workload, sample.metric));
        if (!metric) return pass(metric);
        auto insert = database.statement(
            "add a sample",
            "INSERT INTO sample (run_id, metric_id, value, reason, enabled_ns, running_ns) VALUES (?, ?, ?, ?, ?, ?)");
        insert.bind(run, *metric, sample.value, NullIfEmpty{sample.reason}, sample.enabled_ns, sample.running_ns);
        if (auto done = insert.run(); !done) {
            done.error().message += fmt::format(" (run {}, metric {})", new_run.seq, sample.metric);
            return done;
        }
    }
    return {};
}

Status add_conditions(Database& database, std::int64_t run, const std::vector<NewSample>& conditions) {
    for (const auto& condition : conditions) {
        auto insert = database.statement("add a condition",
                                         "INSERT INTO condition (run_id, name, value, reason) VALUES (?, ?, ?, ?)");
        insert.bind(run, condition.metric, condition.value, NullIfEmpty{condition.reason});
        if (auto done = insert.run(); !done) return done;
    }
    return {};
}

Status add_profile(Database& database, std::int64_t run, const std::vector<NewProfileSymbol>& symbols) {
    for (const auto& symbol : symbols) {
        auto insert = database.statement(
            "add a profile's symbol",
            "INSERT INTO profile_symbol (run_id, symbol, caller, samples, share) VALUES (?, ?, ?, ?, ?)");
        insert.bind(run, symbol.symbol, symbol.caller, symbol.samples, std::optional<double>(symbol.share));
        if (auto done = insert.run(); !done) return done;
    }
    return {};
}

}  // namespace

Status Writer::add_block(const std::string& evaluation, std::int64_t number, std::int64_t repetition, std::int64_t at) {
    auto& database = *impl_.database;
    const auto id = evaluation_id(database, evaluation);
    if (!id) return pass(id);
    auto insert = database.statement(
        "add the block", "INSERT INTO block (evaluation_id, number, repetition, started_at) VALUES (?, ?, ?, ?)");
    if (auto done = insert.bind(*id, number, repetition, at).run(); !done) return done;
    return note(database, {at, evaluation, "block", block_name(number, repetition), "", "running", ""});
}

Status Writer::set_block(const std::string& evaluation, std::int64_t number, std::int64_t repetition,
                         const std::string& from, const std::string& to, const std::string& detail,
                         const std::string& cause, std::int64_t at) {
    auto& database = *impl_.database;
    const auto id = block_id(database, evaluation, number, repetition);
    if (!id) return pass(id);
    std::optional<std::int64_t> finished;
    if (to != "running") finished = at;
    auto update = database.statement(
        "set the block's status",
        "UPDATE block SET status = ?3, detail = ?4, finished_at = ?5, cause = ?6 WHERE id = ?1 AND status = ?2");
    const auto changed = update.bind(*id, from, to, detail, finished, cause).change();
    if (!changed) return pass(changed);
    if (*changed == 0) {
        auto present = database.statement("look up the block", "SELECT status FROM block WHERE id = ?");
        return missed(present.bind(*id), "block " + block_name(number, repetition), from, to);
    }
    return note(database, {at, evaluation, "block", block_name(number, repetition), from, to, detail});
}

Status Writer::add_boot(const std::string& evaluation, std::int64_t number, std::int64_t repetition,
                        const std::string& arm, std::int64_t position, const std::string& uid, std::int64_t at) {
    auto& database = *impl_.database;
    const auto block = block_id(database, evaluation, number, repetition);
    if (!block) return pass(block);
    const auto owner = evaluation_id(database, evaluation);
    if (!owner) return pass(owner);
    const auto arm_row = arm_id(database, *owner, arm);
    if (!arm_row) return pass(arm_row);
    auto insert =
        database.statement("add the boot", "INSERT INTO boot (uid, block_id, arm_id, position) VALUES (?, ?, ?, ?)");
    if (auto done = insert.bind(uid, *block, *arm_row, position).run(); !done) return done;
    return note(database, {at, evaluation, "boot", uid, "", "pending", ""});
}

Status Writer::set_boot(const std::string& uid, const std::string& from, const std::string& to,
                        const std::string& outcome, const std::string& detail, std::int64_t at) {
    auto& database = *impl_.database;
    auto update =
        database.statement("set the boot's status",
                           "UPDATE boot SET status = ?3, outcome = ?4, detail = ?5 WHERE uid = ?1 AND status = ?2");
    const auto changed = update.bind(uid, from, to, NullIfEmpty{outcome}, detail).change();
    if (!changed) return pass(changed);
    if (*changed == 0) {
        auto present = database.statement("look up the boot", "SELECT status FROM boot WHERE uid = ?");
        return missed(present.bind(uid), "boot " + uid, from, to);
    }
    const auto evaluation = evaluation_of_boot(database, uid);
    if (!evaluation) return pass(evaluation);
    const std::string told = detail.empty() ? outcome : outcome.empty() ? detail : outcome + ": " + detail;
    return note(database, {at, *evaluation, "boot", uid, from, to, told});
}

Status Writer::add_attempt(const std::string& boot_uid, const std::string& uid, std::int64_t number,
                           const std::string& host, std::int64_t at) {
    auto& database = *impl_.database;
    const auto evaluation = evaluation_of_boot(database, boot_uid);
    if (!evaluation) return pass(evaluation);
    auto find_host = database.statement("look up the host", "SELECT id FROM host WHERE name = ?");
    const auto host_id = one_id(find_host.bind(host), "host " + host);
    if (!host_id) return pass(host_id);
    auto insert = database.statement("add the attempt",
                                     "INSERT INTO attempt (uid, boot_id, number, host_id, dispatched_at) "
                                     "VALUES (?, (SELECT id FROM boot WHERE uid = ?), ?, ?, ?)");
    if (auto done = insert.bind(uid, boot_uid, number, *host_id, at).run(); !done) return done;
    return note(database, {at, *evaluation, "attempt", uid, "", "dispatched", ""});
}

Status Writer::set_attempt_hello(const std::string& uid, const AttemptHello& hello) {
    auto update = impl_.database->statement(
        "note the boot's environment",
        "UPDATE attempt SET environment = ?, accel = ?, accel_reason = ?, machine = ?, emulator = ?, channel = ? "
        "WHERE uid = ?");
    update.bind(NullIfEmpty{hello.environment}, hello.accel, hello.accel_reason, hello.machine, hello.emulator,
                hello.channel, uid);
    return expect_one(update.change(), "attempt " + uid);
}

Status Writer::add_run(const std::string& attempt_uid, const NewRun& run) {
    auto& database = *impl_.database;
    const auto attempt = find_attempt(database, attempt_uid);
    if (!attempt) return pass(attempt);
    const auto known = run_id(database, attempt->id, run.seq);
    if (!known) return pass(known);
    if (*known != 0) return {};  // sent again because our acknowledgement was lost
    if (attempt->status != "dispatched")
        return fail(Fault::conflict, "attempt {}: run {} came after its end", attempt_uid, run.seq);
    auto find_point = database.statement(
        "look up the point", "SELECT id FROM point WHERE evaluation_id = ? AND workload = ? AND number = ?");
    const auto point = one_id(find_point.bind(attempt->evaluation_id, run.workload, run.point),
                              fmt::format("point {} of {}", run.point, run.workload));
    if (!point) return pass(point);
    auto insert = database.statement("add the run",
                                     "INSERT INTO run (attempt_id, seq, point_id, iteration, warmup, kind, started_ns) "
                                     "VALUES (?, ?, ?, ?, ?, ?, ?)");
    insert.bind(attempt->id, run.seq, *point, run.iteration, run.warmup, run.kind, run.started_ns);
    if (auto done = insert.run(); !done) return done;
    const auto id = database.last_id();
    if (auto done = add_samples(database, *attempt, id, run); !done) return done;
    if (auto done = add_conditions(database, id, run.conditions); !done) return done;
    return add_profile(database, id, run.profile);
}

Status Writer::finish_attempt(const std::string& uid, const AttemptEnd& end, const std::vector<NewConsoleEvent>& events,
                              std::int64_t at) {
    auto& database = *impl_.database;
    const auto attempt = find_attempt(database, uid);
    if (!attempt) return pass(attempt);
    auto update = database.statement(
        "finish the attempt",
        "UPDATE attempt SET status = 'finished', outcome = ?, detail = ?, lost = ?, "
        "setup_ns = ?, hello_ns = ?, work_ns = ?, teardown_ns = ?, false_starts = ?, finished_at = ? "
        "WHERE id = ? AND status = 'dispatched'");
    update.bind(end.outcome, end.detail, end.lost, end.setup_ns, end.hello_ns, end.work_ns, end.teardown_ns,
                end.false_starts, at, attempt->id);
    const auto changed = update.change();
    if (!changed) return pass(changed);
    if (*changed == 0)
        return fail(Fault::conflict, "attempt {}: cannot go from 'dispatched' to 'finished', it is '{}'", uid,
                    attempt->status);
    for (const auto& event : events) {
        auto insert = database.statement(
            "add a console event",
            "INSERT INTO console_event (attempt_id, kind, severity, signature, text, line) VALUES (?, ?, ?, ?, ?, ?)");
        insert.bind(attempt->id, event.kind, event.severity, event.signature, event.text, event.line);
        if (auto done = insert.run(); !done) return done;
    }
    if (!end.console_path.empty()) {
        auto insert = database.statement("add the console",
                                         "INSERT INTO artifact (attempt_id, kind, path, sha256, bytes, created_at) "
                                         "VALUES (?, 'console', ?, ?, ?, ?)");
        insert.bind(attempt->id, end.console_path, end.console_sha256, end.console_bytes, at);
        if (auto done = insert.run(); !done) return done;
    }
    const std::string told = end.detail.empty() ? end.outcome : end.outcome + ": " + end.detail;
    return note(database, {at, attempt->evaluation, "attempt", uid, "dispatched", "finished", told});
}

Status Writer::accept_attempt(const std::string& boot_uid, const std::string& attempt_uid) {
    auto& database = *impl_.database;
    auto update = database.statement(
        "accept the attempt",
        "UPDATE boot SET accepted_attempt_id = (SELECT id FROM attempt WHERE uid = ?2 AND boot_id = boot.id) "
        "WHERE uid = ?1 AND accepted_attempt_id IS NULL "
        "AND EXISTS (SELECT 1 FROM attempt WHERE uid = ?2 AND boot_id = boot.id)");
    const auto changed = update.bind(boot_uid, attempt_uid).change();
    if (!changed) return pass(changed);
    if (*changed == 1) return {};
    auto query =
        database.statement("look up the boot",
                           "SELECT coalesce(accepted.uid, ''), (SELECT count(*) FROM attempt WHERE uid = ?2 AND "
                           "boot_id = boot.id) FROM boot LEFT JOIN attempt AS accepted "
                           "ON accepted.id = boot.accepted_attempt_id WHERE boot.uid = ?1");
    const auto row = query.bind(boot_uid, attempt_uid).next();
    if (!row) return pass(row);
    if (!*row) return fail(Fault::not_found, "boot {}: not in the database", boot_uid);
    std::string accepted;
    std::int64_t own = 0;
    query.read(accepted, own);
    if (accepted == attempt_uid) return {};
    if (own == 0) return fail(Fault::not_found, "boot {}: attempt {} is not one of its own", boot_uid, attempt_uid);
    return fail(Fault::conflict, "boot {}: attempt {} is accepted already, not {}", boot_uid, accepted, attempt_uid);
}

}  // namespace kab::store
