// Store: reading kernels, samples, verdicts, boots and events.
#include <algorithm>

#include <algorithm>

#include "daemon/store/impl.h"

namespace kab::store {
namespace {

#define KAB_KERNEL_COLUMNS                                                                                          \
    "kernel.id, kernel.key, kernel.origin, kernel.base_commit, kernel.tree, kernel.release, kernel.config_hash, "   \
    "kernel.toolchain, kernel.patches, kernel.frozen, kernel.path, kernel.format, kernel.image_hash, "              \
    "kernel.code_signature, kernel.compiler, kernel.modules, kernel.log_path, kernel.config_path, kernel.wall_ns, " \
    "kernel.cpu_ns, kernel.objects, kernel.built_at FROM kernel "

void read_kernel(const Statement& s, KernelRow& row) {
    s.read(row.id, row.key, row.origin, row.base_commit, row.tree, row.release, row.config_hash, row.toolchain,
           row.patches, row.frozen, row.path, row.format, row.image_hash, row.code_signature, row.compiler, row.modules,
           row.log_path, row.config_path, row.wall_ns, row.cpu_ns, row.objects, row.built_at);
}

#define KAB_TRANSITION_COLUMNS                                                                          \
    "transition.seq, transition.at, coalesce(evaluation.uid, ''), transition.object, transition.name, " \
    "transition.from_status, transition.to_status, transition.detail FROM transition "                  \
    "LEFT JOIN evaluation ON evaluation.id = transition.evaluation_id "

void read_transition(const Statement& s, TransitionRow& row) {
    s.read(row.seq, row.at, row.evaluation, row.object, row.name, row.from, row.to, row.detail);
}

}  // namespace

Result<std::vector<KernelRow>> Store::kernels_of(const std::string& evaluation_uid) const {
    auto query = impl_->database->statement("read the evaluation's kernels",
                                            "SELECT " KAB_KERNEL_COLUMNS
                                            "JOIN arm ON arm.kernel_id = kernel.id "
                                            "JOIN evaluation ON evaluation.id = arm.evaluation_id "
                                            "WHERE evaluation.uid = ? ORDER BY arm.position");
    return collect<KernelRow>(query.bind(evaluation_uid), read_kernel);
}

Result<std::vector<KernelRow>> Store::kernels() const {
    auto query = impl_->database->statement("read the kernels", "SELECT " KAB_KERNEL_COLUMNS "ORDER BY kernel.id DESC");
    return collect<KernelRow>(query, read_kernel);
}

Result<std::optional<KernelRow>> Store::kernel(const std::string& key) const {
    auto query = impl_->database->statement("read the kernel", "SELECT " KAB_KERNEL_COLUMNS "WHERE kernel.key = ?");
    const auto found = query.bind(key).next();
    if (!found) return pass(found);
    if (!*found) return std::optional<KernelRow>();
    KernelRow row;
    read_kernel(query, row);
    return std::optional<KernelRow>(std::move(row));
}

Result<std::vector<SampleRow>> Store::samples(const std::string& evaluation_uid) const {
    auto query = impl_->database->statement(
        "read the samples",
        "SELECT arm, workload, point, metric, unit, better, scale, control, role, warmup, kind, block, iteration, "
        "position, seq, value, reason, enabled_ns, running_ns FROM v_sample WHERE evaluation = ? "
        "ORDER BY block, position, seq, metric");
    return collect<SampleRow>(query.bind(evaluation_uid), [](const Statement& s, SampleRow& row) {
        s.read(row.arm, row.workload, row.point, row.metric, row.unit, row.better, row.scale, row.control, row.role,
               row.warmup, row.kind, row.block, row.iteration, row.position, row.seq, row.value, row.reason,
               row.enabled_ns, row.running_ns);
    });
}

Result<std::vector<ProfileRow>> Store::profiles(const std::string& evaluation_uid) const {
    auto query = impl_->database->statement(
        "read the profiles",
        "WITH one AS MATERIALIZED (SELECT arm, block, workload, point, seq, symbol, caller, samples, share "
        "FROM v_profile WHERE evaluation = ?), "
        "runs AS (SELECT arm, block, workload, point, count(DISTINCT seq) AS runs FROM one "
        "GROUP BY arm, block, workload, point) "
        "SELECT one.arm, one.workload, one.point, one.symbol, one.caller, one.block, sum(one.samples), "
        "sum(one.share) / runs.runs FROM one JOIN runs ON runs.arm = one.arm AND runs.block = one.block AND "
        "runs.workload = one.workload AND runs.point = one.point "
        "GROUP BY one.arm, one.block, one.workload, one.point, one.symbol, one.caller "
        "ORDER BY one.block, one.arm, one.workload, one.point, one.symbol, one.caller");
    return collect<ProfileRow>(query.bind(evaluation_uid), [](const Statement& s, ProfileRow& row) {
        std::optional<double> share;
        s.read(row.arm, row.workload, row.point, row.symbol, row.caller, row.block, row.samples, share);
        row.share = share.value_or(0);  // NOT NULL in the table
    });
}

Result<std::vector<ComparisonRow>> Store::comparisons(const std::string& evaluation_uid) const {
    auto query = impl_->database->statement(
        "read the comparisons",
        "SELECT comparison.look, comparison.n, arm.name, against.name, comparison.workload, comparison.point, "
        "comparison.metric, comparison.is_primary, comparison.material, comparison.fragile, comparison.estimate, "
        "comparison.low, comparison.high, comparison.level, comparison.sd, comparison.t, comparison.df, comparison.p, "
        "comparison.p_adjusted, comparison.p_rank, comparison.p_equivalence, comparison.detectable, "
        "comparison.p_sequential, comparison.rank_estimate, comparison.rank_low, comparison.rank_high, "
        "comparison.rank_level, comparison.margin, comparison.spent, comparison.decided_at, comparison.verdict, "
        "comparison.reason, comparison.sentence FROM comparison JOIN evaluation ON evaluation.id = "
        "comparison.evaluation_id "
        "JOIN arm ON arm.id = comparison.arm_id JOIN arm AS against ON against.id = comparison.against_id "
        "WHERE evaluation.uid = ? AND comparison.look = evaluation.looks_done - 1 ORDER BY comparison.id");
    return collect<ComparisonRow>(query.bind(evaluation_uid), [](const Statement& s, ComparisonRow& row) {
        s.read(row.look, row.n, row.arm, row.against, row.workload, row.point, row.metric, row.primary, row.material,
               row.fragile, row.estimate, row.low, row.high, row.level, row.sd, row.t, row.df, row.p, row.p_adjusted,
               row.p_rank, row.p_equivalence, row.detectable, row.p_sequential, row.rank_estimate, row.rank_low,
               row.rank_high, row.rank_level, row.margin, row.spent, row.decided_at, row.verdict, row.reason,
               row.sentence);
    });
}

Result<std::vector<BootReport>> Store::boots(const std::string& evaluation_uid) const {
    auto query = impl_->database->statement(
        "read the boots",
        "SELECT boot, arm, outcome, detail, accel, accel_reason, machine, emulator, channel, environment, "
        "console_path, "
        "host, block, repetition, position, attempts, lost_attempts, setup_ns, hello_ns, work_ns, teardown_ns, "
        "block_status, coalesce(false_starts, 0) FROM v_boot WHERE evaluation = ? AND status = 'done' ORDER BY block, "
        "repetition, position");
    return collect<BootReport>(query.bind(evaluation_uid), [](const Statement& s, BootReport& row) {
        s.read(row.uid, row.arm, row.outcome, row.detail, row.accel, row.accel_reason, row.machine, row.emulator,
               row.channel, row.environment, row.console_path, row.host, row.block, row.repetition, row.position,
               row.attempts, row.lost_attempts, row.setup_ns, row.hello_ns, row.work_ns, row.teardown_ns,
               row.block_status, row.false_starts);
    });
}

Result<std::vector<ConsoleEventRow>> Store::console_events(const std::string& evaluation_uid) const {
    // One row a signature of an arm, with its first text: min() picks the row that the bare columns come from.
    auto query = impl_->database->statement(
        "read the console events",
        "SELECT arm.name, console_event.kind, console_event.severity, console_event.signature, console_event.text, "
        "block.number, console_event.line, count(DISTINCT boot.id), min(console_event.id) AS first_id "
        "FROM console_event JOIN attempt ON attempt.id = console_event.attempt_id JOIN boot ON boot.id = "
        "attempt.boot_id "
        "JOIN arm ON arm.id = boot.arm_id JOIN block ON block.id = boot.block_id "
        "JOIN evaluation ON evaluation.id = block.evaluation_id WHERE evaluation.uid = ? "
        "GROUP BY arm.id, console_event.kind, console_event.signature ORDER BY arm.position, first_id");
    return collect<ConsoleEventRow>(query.bind(evaluation_uid), [](const Statement& s, ConsoleEventRow& row) {
        s.read(row.arm, row.kind, row.severity, row.signature, row.text, row.block, row.line, row.boots);
    });
}

Result<std::vector<FailedBootRow>> Store::failed_boots(const std::string& evaluation_uid) const {
    auto query = impl_->database->statement(
        "read the failed boots",
        "SELECT failed.arm, failed.outcome, failed.detail, failed.console_path, event.kind, event.severity, "
        "event.signature, event.text, failed.block, coalesce(event.line, 0) "
        "FROM v_boot AS failed LEFT JOIN attempt ON attempt.uid = failed.attempt "
        "LEFT JOIN console_event AS event ON event.id = (SELECT id FROM console_event WHERE attempt_id = attempt.id "
        "ORDER BY CASE severity WHEN 'fatal' THEN 0 WHEN 'error' THEN 1 ELSE 2 END, id LIMIT 1) "
        "WHERE failed.evaluation = ? AND failed.status = 'done' "
        "AND failed.outcome IN ('boot-failure', 'kernel-crash', 'hang', 'workload-error') "
        "ORDER BY failed.block, failed.repetition, failed.position");
    return collect<FailedBootRow>(query.bind(evaluation_uid), [](const Statement& s, FailedBootRow& row) {
        s.read(row.arm, row.outcome, row.detail, row.console_path, row.kind, row.severity, row.signature, row.text,
               row.block, row.line);
    });
}

Result<std::vector<TransitionRow>> Store::transitions(std::int64_t after, int limit) const {
    auto query =
        impl_->database->statement("read the transitions", "SELECT " KAB_TRANSITION_COLUMNS
                                                           "WHERE transition.seq > ? ORDER BY transition.seq LIMIT ?");
    return collect<TransitionRow>(query.bind(after, std::int64_t{limit}), read_transition);
}

Result<std::vector<TransitionRow>> Store::last_transitions(const std::string& evaluation_uid, int limit) const {
    auto query = impl_->database->statement("read the evaluation's transitions",
                                            "SELECT " KAB_TRANSITION_COLUMNS
                                            "WHERE evaluation.uid = ? ORDER BY transition.seq DESC LIMIT ?");
    auto rows = collect<TransitionRow>(query.bind(evaluation_uid, std::int64_t{limit}), read_transition);
    if (rows) std::reverse(rows->begin(), rows->end());
    return rows;
}

Result<std::int64_t> Store::last_seq() const {
    return impl_->database->integer("read the newest transition", "SELECT coalesce(max(seq), 0) FROM transition");
}

Result<std::vector<HostRow>> Store::hosts() const {
    auto query = impl_->database->statement(
        "read the hosts", "SELECT uid, name, kind, status, properties, last_seen_at FROM host ORDER BY name");
    return collect<HostRow>(query, [](const Statement& s, HostRow& row) {
        s.read(row.uid, row.name, row.kind, row.status, row.properties, row.last_seen_at);
    });
}

}  // namespace kab::store
