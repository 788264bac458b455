// Writer: evaluations, arms, kernels, verdicts.
#include "daemon/store/writer.h"

namespace kab::store {
namespace {

Status add_arms(Database& database, std::int64_t evaluation_id, const NewEvaluation& evaluation) {
    std::int64_t position = 0;
    for (const auto& arm : evaluation.arms) {
        std::optional<std::int64_t> against;
        if (!arm.against.empty()) {
            auto id = arm_id(database, evaluation_id, arm.against);
            if (!id) return pass(id);
            against = *id;
        }
        auto insert = database.statement("add an arm",
                                         "INSERT INTO arm (evaluation_id, position, name, against_id, control, role, "
                                         "kernel_request) VALUES (?, ?, ?, ?, ?, ?, ?)");
        insert.bind(evaluation_id, position++, arm.name, against, arm.control, arm.role, arm.kernel_request);
        if (auto done = insert.run(); !done) return done;
    }
    return {};
}

Status add_points_and_metrics(Database& database, std::int64_t evaluation_id, const NewEvaluation& evaluation) {
    for (const auto& point : evaluation.points) {
        auto insert = database.statement(
            "add a point",
            "INSERT INTO point (evaluation_id, workload, number, label, parameters) VALUES (?, ?, ?, ?, ?)");
        insert.bind(evaluation_id, point.workload, point.number, point.label, point.parameters);
        if (auto done = insert.run(); !done) return done;
    }
    for (const auto& metric : evaluation.metrics) {
        auto insert = database.statement(
            "add a metric",
            "INSERT INTO metric (evaluation_id, workload, name, unit, better, scale) VALUES (?, ?, ?, ?, ?, ?)");
        insert.bind(evaluation_id, metric.workload, metric.name, metric.unit, metric.better, metric.scale);
        if (auto done = insert.run(); !done) return done;
    }
    return {};
}

bool ended(const std::string& status) {
    return status == "done" || status == "failed" || status == "cancelled";
}

}  // namespace

Status Writer::add_evaluation(const NewEvaluation& evaluation, std::int64_t at) {
    auto& database = *impl_.database;
    auto experiment = database.statement(
        "add the experiment", "INSERT INTO experiment (name, created_at) VALUES (?, ?) ON CONFLICT (name) DO NOTHING");
    if (auto done = experiment.bind(evaluation.experiment, at).run(); !done) return done;
    auto insert = database.statement(
        "add the evaluation",
        "INSERT INTO evaluation (uid, experiment_id, question, spec_file, spec_text, spec_hash, plan_text, plan_hash, "
        "experiment_json, seed, idempotency_key, created_at) "
        "VALUES (?, (SELECT id FROM experiment WHERE name = ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    insert.bind(evaluation.uid, evaluation.experiment, evaluation.question, evaluation.spec_file, evaluation.spec_text,
                evaluation.spec_hash, evaluation.plan_text, evaluation.plan_hash, evaluation.experiment_json,
                std::to_string(evaluation.seed), NullIfEmpty{evaluation.idempotency_key}, at);
    if (auto done = insert.run(); !done) return done;
    const auto id = database.last_id();
    if (auto done = add_arms(database, id, evaluation); !done) return done;
    if (auto done = add_points_and_metrics(database, id, evaluation); !done) return done;
    return note(database, {at, evaluation.uid, "evaluation", evaluation.uid, "", "queued", ""});
}

Status Writer::set_evaluation(const std::string& uid, const std::string& from, const std::string& to,
                              const std::string& detail, std::int64_t at, const std::string& fault) {
    auto& database = *impl_.database;
    std::optional<std::int64_t> finished;
    if (ended(to)) finished = at;
    auto update = database.statement("set the evaluation's status",
                                     "UPDATE evaluation SET status = ?3, detail = ?4, finished_at = ?5, fault = ?7, "
                                     "started_at = CASE WHEN ?3 IN ('building', 'running') THEN "
                                     "coalesce(started_at, ?6) ELSE started_at END "
                                     "WHERE uid = ?1 AND status = ?2");
    const auto changed = update.bind(uid, from, to, detail, finished, at, fault).change();
    if (!changed) return pass(changed);
    if (*changed == 0) {
        auto present = database.statement("look up the evaluation", "SELECT status FROM evaluation WHERE uid = ?");
        return missed(present.bind(uid), "evaluation " + uid, from, to);
    }
    return note(database, {at, uid, "evaluation", uid, from, to, detail});
}

Status Writer::set_verdict(const std::string& uid, const std::string& verdict) {
    auto update = impl_.database->statement("set the verdict", "UPDATE evaluation SET verdict = ? WHERE uid = ?");
    return expect_one(update.bind(verdict, uid).change(), "evaluation " + uid);
}

Status Writer::seal_plan(const std::string& uid, const std::string& plan_hash, const std::string& from) {
    auto update = impl_.database->statement("store the plan hash",
                                            "UPDATE evaluation SET plan_hash = ? WHERE uid = ? AND plan_hash = ?");
    return expect_one(update.bind(plan_hash, uid, from).change(),
                      "evaluation " + uid + (from.empty() ? " without a plan hash" : " with the plan hash " + from));
}

Status Writer::set_arm(const std::string& evaluation, const std::string& arm, const std::string& from,
                       const std::string& to, const std::string& detail, std::int64_t at) {
    auto& database = *impl_.database;
    auto update = database.statement(
        "set the arm's status",
        "UPDATE arm SET status = ?4, detail = ?5 "
        "WHERE evaluation_id = (SELECT id FROM evaluation WHERE uid = ?1) AND name = ?2 AND status = ?3");
    const auto changed = update.bind(evaluation, arm, from, to, detail).change();
    if (!changed) return pass(changed);
    if (*changed == 0) {
        auto present =
            database.statement("look up the arm",
                               "SELECT arm.status FROM arm JOIN evaluation ON evaluation.id = arm.evaluation_id "
                               "WHERE evaluation.uid = ? AND arm.name = ?");
        return missed(present.bind(evaluation, arm), "arm " + arm, from, to);
    }
    return note(database, {at, evaluation, "arm", arm, from, to, detail});
}

Status Writer::set_arm_kernel(const std::string& evaluation, const std::string& arm, const KernelRow& kernel) {
    auto& database = *impl_.database;
    auto insert = database.statement("add the kernel",
                                     "INSERT INTO kernel (key, origin, base_commit, tree, release, config_hash, "
                                     "toolchain, patches, frozen, modules) "
                                     "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING");
    insert.bind(kernel.key, kernel.origin, kernel.base_commit, kernel.tree, kernel.release, kernel.config_hash,
                kernel.toolchain, kernel.patches.empty() ? "[]" : kernel.patches,
                kernel.frozen.empty() ? "{}" : kernel.frozen, kernel.modules);
    if (auto done = insert.run(); !done) return done;
    auto update = database.statement("give the arm its kernel",
                                     "UPDATE arm SET kernel_id = (SELECT id FROM kernel WHERE key = ?3) "
                                     "WHERE evaluation_id = (SELECT id FROM evaluation WHERE uid = ?1) AND name = ?2");
    return expect_one(update.bind(evaluation, arm, kernel.key).change(), "arm " + arm);
}

Status Writer::set_kernel_built(const KernelRow& kernel, std::int64_t at) {
    // A kernel found in the cache has no build times of its own: those of the build that made it stay.
    auto update = impl_.database->statement(
        "note the built kernel",
        "UPDATE kernel SET path = ?2, format = ?3, image_hash = ?4, code_signature = ?5, compiler = ?6, modules = ?7, "
        "log_path = ?8, config_path = ?9, config_hash = CASE WHEN ?10 = '' THEN config_hash ELSE ?10 END, "
        "wall_ns = CASE WHEN ?11 = 0 THEN wall_ns ELSE ?11 END, cpu_ns = CASE WHEN ?12 = 0 THEN cpu_ns ELSE ?12 END, "
        "objects = CASE WHEN ?11 = 0 THEN objects ELSE ?13 END, built_at = ?14 WHERE key = ?1");
    update.bind(kernel.key, kernel.path, kernel.format, kernel.image_hash, kernel.code_signature, kernel.compiler,
                kernel.modules, kernel.log_path, kernel.config_path, kernel.config_hash, kernel.wall_ns, kernel.cpu_ns,
                kernel.objects, at);
    return expect_one(update.change(), "kernel " + kernel.key);
}

Status Writer::add_comparisons(const std::string& evaluation, std::int64_t look,
                               const std::vector<ComparisonRow>& rows) {
    auto& database = *impl_.database;
    const auto id = evaluation_id(database, evaluation);
    if (!id) return pass(id);
    // The same look again (after a restart): its rows are computed from the same samples and replace themselves.
    auto remove = database.statement("replace the comparisons of a look",
                                     "DELETE FROM comparison WHERE evaluation_id = ? AND look = ?");
    if (auto done = remove.bind(*id, look).run(); !done) return done;
    for (const auto& row : rows) {
        const auto arm = arm_id(database, *id, row.arm);
        if (!arm) return pass(arm);
        const auto against = arm_id(database, *id, row.against);
        if (!against) return pass(against);
        auto insert = database.statement(
            "add a comparison",
            "INSERT INTO comparison (evaluation_id, look, workload, point, metric, arm_id, against_id, n, is_primary, "
            "material, fragile, estimate, low, high, level, sd, t, df, p, p_adjusted, p_rank, p_equivalence, "
            "detectable, p_sequential, rank_estimate, rank_low, rank_high, rank_level, margin, spent, decided_at, "
            "verdict, reason, sentence) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
            "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
        insert.bind(*id, look, row.workload, row.point, row.metric, *arm, *against, row.n, row.primary, row.material,
                    row.fragile, row.estimate, row.low, row.high, row.level, row.sd, row.t, row.df, row.p,
                    row.p_adjusted, row.p_rank, row.p_equivalence, row.detectable, row.p_sequential, row.rank_estimate,
                    row.rank_low, row.rank_high, row.rank_level, row.margin, row.spent, row.decided_at, row.verdict,
                    row.reason, row.sentence);
        if (auto done = insert.run(); !done) return done;
    }
    auto update =
        database.statement("count the look", "UPDATE evaluation SET looks_done = max(looks_done, ? + 1) WHERE id = ?");
    return update.bind(look, *id).run();
}

Status Writer::set_host(const HostRow& host) {
    auto& database = *impl_.database;
    std::string before;
    {
        auto query = database.statement("look up the host", "SELECT status FROM host WHERE name = ?");
        const auto found = query.bind(host.name).next();
        if (!found) return pass(found);
        if (*found) query.read(before);
    }
    auto upsert = database.statement(
        "set the host",
        "INSERT INTO host (uid, name, kind, status, properties, last_seen_at) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (name) DO UPDATE SET kind = excluded.kind, status = excluded.status, "
        "properties = excluded.properties, last_seen_at = excluded.last_seen_at");
    upsert.bind(host.uid, host.name, host.kind, host.status, host.properties.empty() ? "{}" : host.properties,
                host.last_seen_at);
    if (auto done = upsert.run(); !done || before == host.status) return done;
    return note(database, {host.last_seen_at, "", "host", host.name, before, host.status, ""});
}

}  // namespace kab::store
