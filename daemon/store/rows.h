#pragma once
// Rows as the store gives and takes them: plain data, no SQL. Tables: schema/0001_initial.sql,
// meaning: docs/database.md. Times `*_at` are UTC nanoseconds; durations `*_ns`.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kab::store {

struct NewArm {
    std::string name;
    std::string against;  ///< empty for a baseline
    bool control = false;
    std::string role;            ///< measured, control, relinked, debug
    std::string kernel_request;  ///< JSON of kernel::Request
};

struct NewPoint {
    std::string workload;
    std::int64_t number = 0;  ///< within the workload
    std::string label;        ///< "" or "tasks=4": the swept parameters only
    std::string parameters;   ///< JSON object, all parameters
};

struct NewMetric {
    std::string workload, name, unit, better, scale;
};

struct NewEvaluation {
    std::string uid, experiment, question;
    std::string spec_file;  ///< as it was named at submission; for people
    std::string spec_text, spec_hash, plan_text, plan_hash;
    std::string experiment_json;  ///< the resolved spec as JSON, for reports and restarts
    std::uint64_t seed = 0;
    std::string idempotency_key;  ///< empty: none
    std::vector<NewArm> arms;     ///< in plan order
    std::vector<NewPoint> points;
    std::vector<NewMetric> metrics;
};

struct EvaluationRow {
    std::int64_t id = 0;
    std::string uid, experiment, question, status, detail;
    std::string fault;  ///< why it failed, as Fault's name; empty when it did not or that is not known
    std::string verdict;
    std::string spec_file, spec_text, spec_hash, plan_text, plan_hash, experiment_json;
    std::uint64_t seed = 0;
    std::int64_t looks_done = 0;
    std::int64_t created_at = 0;
    std::optional<std::int64_t> started_at, finished_at;
};

struct KernelRow {
    std::int64_t id = 0;
    std::string key, origin, base_commit, tree, release, config_hash, toolchain;
    std::string patches;  ///< JSON array of {file, subject, patch_id}
    std::string frozen;   ///< JSON of kernel::Frozen
    std::string path, format, image_hash, code_signature, compiler, modules, log_path,
        config_path;  ///< empty until built
    std::int64_t wall_ns = 0, cpu_ns = 0, objects = 0;
    std::optional<std::int64_t> built_at;
};

struct ArmRow {
    std::int64_t id = 0, evaluation_id = 0, position = 0;
    std::string name, against, status, detail, kernel_request;
    bool control = false;
    std::string role;  ///< measured, control, relinked, debug
    std::optional<std::int64_t> kernel_id;
};

struct BlockRow {
    std::int64_t id = 0, number = 0, repetition = 1;
    std::string status, detail;  ///< running, complete, excluded
    std::string cause;           ///< of an excluded block: interrupted, steal, ...; else empty
    std::int64_t started_at = 0;
    std::optional<std::int64_t> finished_at;
};

struct BootRow {
    std::int64_t id = 0, block_id = 0, position = 0;
    std::string uid, arm, status, outcome, detail;
    std::optional<std::int64_t> accepted_attempt_id;
};

struct AttemptRow {
    std::int64_t id = 0, boot_id = 0, number = 0;
    std::string uid, status, outcome, detail, host;
    std::string accel;  ///< kvm or tcg; empty before the kernel's agent has spoken
    bool lost = false;  ///< ended because the coordinator went away: not counted against the bound
    std::int64_t dispatched_at = 0;
    std::optional<std::int64_t> finished_at;
};

/// All of an evaluation that a restart or a report needs, in order (arms by position, blocks by number and repetition).
struct EvaluationTree {
    EvaluationRow evaluation;
    std::vector<ArmRow> arms;
    std::vector<NewPoint> points;
    std::vector<NewMetric> metrics;
    std::vector<BlockRow> blocks;
    std::vector<BootRow> boots;
    std::vector<AttemptRow> attempts;
};

struct NewSample {
    std::string metric;
    std::optional<double> value;
    std::string reason;
    std::optional<std::int64_t> enabled_ns, running_ns;
};

struct NewProfileSymbol {
    std::string symbol, caller;  ///< caller: of a symbol in a group, the nearest that is in none; else empty
    std::int64_t samples = 0;
    double share = 0;  ///< of all samples of the run, 0..1
};

struct NewRun {
    std::int64_t seq = 0;
    std::string workload;
    std::int64_t point = 0, iteration = 0;
    bool warmup = false;
    std::string kind = "timed";  ///< timed, counted, profiled, check
    std::int64_t started_ns = 0;
    std::vector<NewSample> samples;
    std::vector<NewSample> conditions;  ///< how quiet the machine was; no metric of the evaluation
    std::vector<NewProfileSymbol> profile;
};

struct AttemptHello {
    std::string environment;  ///< JSON object: release, version, command_line, cpu_model, ... as reported
    std::string accel, accel_reason, machine, emulator, channel;
};

struct AttemptEnd {
    std::string outcome, detail;
    bool lost = false;
    std::int64_t setup_ns = 0, hello_ns = 0, work_ns = 0, teardown_ns = 0;
    std::int64_t false_starts = 0;  ///< emulator started anew before the kernel had done anything
    std::string console_path;       ///< artifact path relative to the artifacts directory; empty if none
    std::string console_sha256;
    std::int64_t console_bytes = 0;
};

struct NewConsoleEvent {
    std::string kind, severity, signature, text;
    std::int64_t line = 0;
};

/// A sample as the view v_sample gives it (accepted attempts of complete blocks).
struct SampleRow {
    std::string arm, workload, point, metric, unit, better, scale;
    std::string role, kind;  ///< of the arm (measured, control, ...); of the run (timed, counted, profiled)
    bool control = false, warmup = false;
    std::int64_t block = 0, iteration = 0, position = 0, seq = 0;
    std::optional<double> value;
    std::string reason;
    std::optional<std::int64_t> enabled_ns, running_ns;
};

/// What the machine did beside a run: a value, or the reason why there is none.
struct ConditionRow {
    std::string arm, kind, name;  ///< kind: of the run
    std::int64_t block = 0, repetition = 1, seq = 0;
    bool warmup = false;
    std::optional<double> value;
    std::string reason;
};

/// What fell on one kernel symbol in the profiled runs of one boot that counts, at one point of a workload.
struct ProfileRow {
    std::string arm, workload, point, symbol, caller;
    std::int64_t block = 0;
    std::int64_t samples = 0;
    double share = 0;  ///< mean of the boot's profiled runs; a run without the symbol counts as 0
};

struct ComparisonRow {
    std::int64_t look = 0, n = 0;                       ///< look: from 0
    std::string arm, against, workload, point, metric;  ///< point "*": the mean over a sweep
    bool primary = false, material = false, fragile = false;
    std::optional<double> estimate, low, high, level, sd, t, df, p, p_adjusted, p_rank, p_equivalence, detectable;
    std::optional<double> p_sequential, rank_estimate, rank_low, rank_high, rank_level;
    std::optional<double> margin, spent;     ///< spent: two-sided alpha up to and with this look; no margin: absent
    std::optional<std::int64_t> decided_at;  ///< look at which the verdict fell
    std::string verdict, reason, sentence;   ///< reason: a short cause or empty
};

struct BootReport {  ///< v_boot: one accepted or failed boot with its environment
    std::string uid, arm, outcome, detail, accel, accel_reason, machine, emulator, channel, environment, console_path,
        host;
    std::int64_t block = 0, repetition = 1, position = 0, attempts = 0, lost_attempts = 0, false_starts = 0;
    std::int64_t setup_ns = 0, hello_ns = 0, work_ns = 0, teardown_ns = 0;
    std::string block_status;
};

struct ConsoleEventRow {
    std::string arm, kind, severity, signature, text;
    std::int64_t block = 0, line = 0, boots = 0;  ///< boots: how many boots of the arm show this signature
};

struct FailedBootRow {  ///< a boot that failed through kernel or workload, with the worst that its console tells
    std::string arm, outcome, detail, console_path;
    std::string kind, severity, signature, text;  ///< empty when the console tells nothing
    std::int64_t block = 0, line = 0;             ///< line: of the console, where that begins
};

struct TransitionRow {
    std::int64_t seq = 0, at = 0;
    std::string evaluation, object, name, from, to, detail;
};

struct HostRow {
    std::string uid, name, kind, status, properties;  ///< properties: JSON object
    std::int64_t last_seen_at = 0;
};

}  // namespace kab::store
