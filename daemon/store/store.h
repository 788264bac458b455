#pragma once
// The results database. One Store per connection; the writer is kabd alone, readers may be many
// (also other processes, also without write permission). Not thread-safe: use each from one executor.
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/files.h"
#include "common/result.h"
#include "daemon/store/rows.h"

namespace kab::store {

/// Thrown to nobody: a failed compare-and-set is Fault::conflict and rolls the transaction back.
class Writer;

class Store {
  public:
    enum class Mode { read_write, read_only };
    /// read_write: creates the file and its directory, migrates (after a backup beside it), WAL, foreign keys on.
    /// A newer schema than this program's is refused. read_only: Fault::not_found when there is no file.
    static Result<std::unique_ptr<Store>> open(const fs::path& file, Mode mode);
    ~Store();
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    /// Runs `body` in one BEGIN IMMEDIATE transaction; commits if it returns success, else rolls back.
    Status write(const std::function<Status(Writer&)>& body);

    // ---- readers: each a single consistent statement or read transaction ----
    Result<std::vector<EvaluationRow>> evaluations(int limit = 1000) const;  ///< newest first, without texts
    /// Oldest first, with texts; ended ones too while an attempt of theirs is open.
    Result<std::vector<EvaluationRow>> unfinished_evaluations() const;
    /// By uid, unique uid prefix (>= 4 characters), "last", or experiment name (its newest). Fault::not_found says what
    /// is near.
    Result<EvaluationRow> find_evaluation(const std::string& name) const;
    Result<std::optional<std::string>> evaluation_of_key(const std::string& idempotency_key) const;
    Result<EvaluationTree> tree(const std::string& evaluation_uid) const;
    Result<std::vector<KernelRow>> kernels_of(
        const std::string& evaluation_uid) const;  ///< by arm position, one per arm with a kernel
    Result<std::vector<KernelRow>> kernels() const;
    Result<std::optional<KernelRow>> kernel(const std::string& key) const;
    Result<std::vector<SampleRow>> samples(const std::string& evaluation_uid) const;        ///< what counts; ordered
    Result<std::vector<ConditionRow>> conditions(const std::string& evaluation_uid) const;  ///< of runs that count
    /// Of the block that an attempt belongs to: of its boots that went well so far, and of the attempt itself.
    Result<std::vector<ConditionRow>> block_conditions(const std::string& attempt_uid) const;
    Result<std::vector<std::int64_t>> runs_of(const std::string& attempt_uid) const;    ///< their numbers, ascending
    Result<std::vector<ProfileRow>> profiles(const std::string& evaluation_uid) const;  ///< what counts; ordered
    Result<std::vector<ComparisonRow>> comparisons(const std::string& evaluation_uid) const;  ///< of the last look
    Result<std::vector<BootReport>> boots(const std::string& evaluation_uid) const;
    Result<std::vector<ConsoleEventRow>> console_events(const std::string& evaluation_uid) const;
    Result<std::vector<FailedBootRow>> failed_boots(const std::string& evaluation_uid) const;  ///< in their order
    Result<std::vector<TransitionRow>> transitions(std::int64_t after, int limit) const;
    /// The newest `limit` of one evaluation, oldest first.
    Result<std::vector<TransitionRow>> last_transitions(const std::string& evaluation_uid, int limit) const;
    Result<std::int64_t> last_seq() const;  ///< of the newest transition; 0 when there is none
    Result<std::vector<HostRow>> hosts() const;
    Result<std::set<std::string>> artifact_paths() const;  ///< relative to the artifacts directory

    /// Any one SELECT (or WITH, EXPLAIN, PRAGMA that reads) for `kab query`; values as text, NULL absent. Only with
    /// read_only. Fault::usage with SQLite's message and the place in the text; also for more than `max_rows`;
    /// Fault::timeout after a minute.
    struct Table {
        std::vector<std::string> columns;
        std::vector<std::string> types;  ///< of the first row: integer, real, text, blob, null
        std::vector<std::vector<std::optional<std::string>>> rows;
    };
    Result<Table> query(const std::string& sql, std::int64_t max_rows = 1000000) const;

    /// Folds the WAL into the file (on shutdown and when it grows past its bound).
    Status checkpoint();
    /// Size of the write-ahead log; a reader that stays keeps it from being folded in.
    std::int64_t wal_bytes() const;
    struct Impl;

  private:
    explicit Store(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// What can be changed, inside Store::write. Each status change is a compare-and-set (`from` must be the present
/// status) and writes a row into `transition` with time `at`.
class Writer {
  public:
    Status add_evaluation(const NewEvaluation& evaluation, std::int64_t at);  ///< status "queued"; arms "pending"
    Status set_evaluation(const std::string& uid, const std::string& from, const std::string& to,
                          const std::string& detail, std::int64_t at, const std::string& fault = {});
    Status set_verdict(const std::string& uid, const std::string& verdict);
    /// `from`: the plan hash as it is; empty: there is none yet.
    Status seal_plan(const std::string& uid, const std::string& plan_hash, const std::string& from = {});
    Status set_arm(const std::string& evaluation, const std::string& arm, const std::string& from,
                   const std::string& to, const std::string& detail, std::int64_t at);
    /// Inserts the kernel by key unless it is known, and points the arm at it.
    Status set_arm_kernel(const std::string& evaluation, const std::string& arm, const KernelRow& kernel);
    Status set_kernel_built(const KernelRow& kernel, std::int64_t at);
    Status add_block(const std::string& evaluation, std::int64_t number, std::int64_t repetition, std::int64_t at);
    /// `cause`: of an excluded block, one word for why ("interrupted", "steal"); else empty.
    Status set_block(const std::string& evaluation, std::int64_t number, std::int64_t repetition,
                     const std::string& from, const std::string& to, const std::string& detail,
                     const std::string& cause, std::int64_t at);
    Status add_boot(const std::string& evaluation, std::int64_t number, std::int64_t repetition, const std::string& arm,
                    std::int64_t position, const std::string& uid, std::int64_t at);
    Status set_boot(const std::string& uid, const std::string& from, const std::string& to, const std::string& outcome,
                    const std::string& detail, std::int64_t at);
    Status add_attempt(const std::string& boot_uid, const std::string& uid, std::int64_t number,
                       const std::string& host,
                       std::int64_t at);  ///< status "dispatched"; `host` is the name of one set by set_host
    Status set_attempt_hello(const std::string& uid, const AttemptHello& hello);
    /// Idempotent: a seq that is already there is left as it is.
    Status add_run(const std::string& attempt_uid, const NewRun& run);
    Status finish_attempt(const std::string& uid, const AttemptEnd& end, const std::vector<NewConsoleEvent>& events,
                          std::int64_t at);  ///< "dispatched" -> "finished"
    /// boot.accepted_attempt: NULL -> this attempt. The one act that makes samples count (once the block is complete,
    /// and if the attempt ended ok). Again with the same attempt: success.
    Status accept_attempt(const std::string& boot_uid, const std::string& attempt_uid);
    /// Rows of another look stay. `look` counts from 0 as stats::Input::look; sets evaluation.looks_done to look + 1.
    Status add_comparisons(const std::string& evaluation, std::int64_t look, const std::vector<ComparisonRow>& rows);
    Status set_host(const HostRow& host);

  private:
    friend class Store;
    explicit Writer(Store::Impl& impl) : impl_(impl) {}
    Store::Impl& impl_;
};

}  // namespace kab::store
