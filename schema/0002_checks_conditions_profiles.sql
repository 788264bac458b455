-- Version 2: a check block before the first (number 0), roles of arms, why a block was excluded, how quiet the machine
-- was in each run, and profiles as a view. Tables whose CHECKs change are rebuilt.

DROP VIEW v_sample;
DROP VIEW v_comparison;
DROP VIEW v_boot;

ALTER TABLE arm ADD COLUMN role TEXT NOT NULL DEFAULT 'measured'
    CHECK (role IN ('measured', 'control', 'relinked', 'debug'));
UPDATE arm SET role = 'control' WHERE control;

-- The check block is number 0.
CREATE TABLE new_block (
    id            INTEGER PRIMARY KEY,
    evaluation_id INTEGER NOT NULL REFERENCES evaluation (id),
    number        INTEGER NOT NULL CHECK (number >= 0),
    repetition    INTEGER NOT NULL DEFAULT 1 CHECK (repetition >= 1),
    status        TEXT    NOT NULL DEFAULT 'running' CHECK (status IN ('running', 'complete', 'excluded')),
    detail        TEXT    NOT NULL DEFAULT '',
    cause         TEXT    NOT NULL DEFAULT '',
    started_at    INTEGER NOT NULL,
    finished_at   INTEGER,
    UNIQUE (evaluation_id, number, repetition),
    CHECK ((status = 'running') = (finished_at IS NULL)),
    CHECK (cause = '' OR status = 'excluded')
) STRICT;
INSERT INTO new_block (id, evaluation_id, number, repetition, status, detail, cause, started_at, finished_at)
SELECT id, evaluation_id, number, repetition, status, detail, iif(status <> 'excluded', '', iif(detail LIKE 'interrupted%', 'interrupted', 'ended')), started_at,
       finished_at
FROM block;
DROP TABLE block;
ALTER TABLE new_block RENAME TO block;
CREATE UNIQUE INDEX block_counts_once ON block (evaluation_id, number) WHERE status <> 'excluded';

CREATE TABLE new_run (
    id         INTEGER PRIMARY KEY,
    attempt_id INTEGER NOT NULL REFERENCES attempt (id),
    seq        INTEGER NOT NULL CHECK (seq >= 1),
    point_id   INTEGER NOT NULL REFERENCES point (id),
    iteration  INTEGER NOT NULL CHECK (iteration >= 0),
    warmup     INTEGER NOT NULL CHECK (warmup IN (0, 1)),
    kind       TEXT    NOT NULL CHECK (kind IN ('timed', 'counted', 'profiled', 'check')),
    started_ns INTEGER NOT NULL,
    UNIQUE (attempt_id, seq)
) STRICT;
INSERT INTO new_run (id, attempt_id, seq, point_id, iteration, warmup, kind, started_ns)
SELECT id, attempt_id, seq, point_id, iteration, warmup, kind, started_ns FROM run;
DROP TABLE run;
ALTER TABLE new_run RENAME TO run;

-- What the machine did beside a run: a value, or the reason why there is none.
CREATE TABLE condition (
    run_id INTEGER NOT NULL REFERENCES run (id),
    name   TEXT    NOT NULL CHECK (name <> ''),
    value  REAL,
    reason TEXT    CHECK (reason <> ''),
    PRIMARY KEY (run_id, name),
    CHECK ((value IS NULL) <> (reason IS NULL))
) STRICT, WITHOUT ROWID;

-- ---- the stable contract ----

-- One row a sample that counts: of the accepted attempt of a boot that ended ok, in a complete block, not the check block.
CREATE VIEW v_sample AS
SELECT evaluation.uid      AS evaluation,
       experiment.name     AS experiment,
       arm.name            AS arm,
       arm.control         AS control,
       arm.role            AS role,
       block.number        AS block,
       block.repetition    AS repetition,
       boot.position       AS position,
       boot.uid            AS boot,
       attempt.uid         AS attempt,
       host.name           AS host,
       attempt.accel       AS accel,
       point.workload      AS workload,
       point.label         AS point,
       point.parameters    AS parameters,
       run.seq             AS seq,
       run.iteration       AS iteration,
       run.warmup          AS warmup,
       run.kind            AS kind,
       metric.name         AS metric,
       metric.unit         AS unit,
       metric.better       AS better,
       metric.scale        AS scale,
       sample.value        AS value,
       sample.reason       AS reason,
       sample.enabled_ns   AS enabled_ns,
       sample.running_ns   AS running_ns
FROM evaluation
JOIN experiment ON experiment.id = evaluation.experiment_id
JOIN block ON block.evaluation_id = evaluation.id AND block.status = 'complete' AND block.number > 0
JOIN boot ON boot.block_id = block.id
JOIN arm ON arm.id = boot.arm_id
JOIN attempt ON attempt.id = boot.accepted_attempt_id AND attempt.outcome = 'ok'
JOIN host ON host.id = attempt.host_id
JOIN run ON run.attempt_id = attempt.id
JOIN point ON point.id = run.point_id
JOIN sample ON sample.run_id = run.id
JOIN metric ON metric.id = sample.metric_id;

-- One row a comparison of an arm with the arm it is judged against, at each look.
CREATE VIEW v_comparison AS
SELECT evaluation.uid           AS evaluation,
       experiment.name          AS experiment,
       comparison.look          AS look,
       comparison.look = evaluation.looks_done - 1 AS last_look,
       arm.name                 AS arm,
       arm.control              AS control,
       arm.role                 AS role,
       against.name             AS against,
       comparison.workload      AS workload,
       comparison.point         AS point,
       comparison.metric        AS metric,
       metric.unit              AS unit,
       metric.better            AS better,
       metric.scale             AS scale,
       comparison.is_primary    AS is_primary,
       comparison.n             AS n,
       comparison.estimate      AS estimate,
       comparison.low           AS low,
       comparison.high          AS high,
       comparison.level         AS level,
       comparison.sd            AS sd,
       comparison.t             AS t,
       comparison.df            AS df,
       comparison.p             AS p,
       comparison.p_adjusted    AS p_adjusted,
       comparison.p_rank        AS p_rank,
       comparison.p_equivalence AS p_equivalence,
       comparison.detectable    AS detectable,
       comparison.material      AS material,
       comparison.fragile       AS fragile,
       comparison.verdict       AS verdict,
       comparison.reason        AS reason,
       comparison.p_sequential  AS p_sequential,
       comparison.rank_estimate AS rank_estimate,
       comparison.rank_low      AS rank_low,
       comparison.rank_high     AS rank_high,
       comparison.rank_level    AS rank_level,
       comparison.margin        AS margin,
       comparison.spent         AS spent,
       comparison.decided_at    AS decided_at,
       comparison.sentence      AS sentence
FROM comparison
JOIN evaluation ON evaluation.id = comparison.evaluation_id
JOIN experiment ON experiment.id = evaluation.experiment_id
JOIN arm ON arm.id = comparison.arm_id
JOIN arm AS against ON against.id = comparison.against_id
LEFT JOIN metric ON metric.evaluation_id = comparison.evaluation_id
                AND metric.workload = comparison.workload
                AND metric.name = comparison.metric;

-- One row a planned boot with its accepted attempt, or else its last one.
CREATE VIEW v_boot AS
SELECT evaluation.uid       AS evaluation,
       experiment.name      AS experiment,
       arm.name             AS arm,
       arm.control          AS control,
       arm.role             AS role,
       block.number         AS block,
       block.repetition     AS repetition,
       block.status         AS block_status,
       block.cause          AS block_cause,
       boot.position        AS position,
       boot.uid             AS boot,
       boot.status          AS status,
       boot.outcome         AS outcome,
       boot.detail          AS detail,
       boot.accepted_attempt_id IS NOT NULL AS accepted,
       (SELECT count(*) FROM attempt AS a WHERE a.boot_id = boot.id) AS attempts,
       (SELECT count(*) FROM attempt AS a WHERE a.boot_id = boot.id AND a.lost) AS lost_attempts,
       attempt.uid          AS attempt,
       host.name            AS host,
       attempt.accel        AS accel,
       attempt.accel_reason AS accel_reason,
       attempt.machine      AS machine,
       attempt.emulator     AS emulator,
       attempt.channel      AS channel,
       attempt.environment  AS environment,
       attempt.setup_ns     AS setup_ns,
       attempt.hello_ns     AS hello_ns,
       attempt.work_ns      AS work_ns,
       attempt.teardown_ns  AS teardown_ns,
       attempt.false_starts AS false_starts,
       attempt.dispatched_at AS dispatched_at,
       attempt.finished_at  AS finished_at,
       console.path         AS console_path
FROM boot
JOIN block ON block.id = boot.block_id
JOIN evaluation ON evaluation.id = block.evaluation_id
JOIN experiment ON experiment.id = evaluation.experiment_id
JOIN arm ON arm.id = boot.arm_id
LEFT JOIN attempt ON attempt.id = coalesce(
    boot.accepted_attempt_id,
    (SELECT a.id FROM attempt AS a WHERE a.boot_id = boot.id ORDER BY a.number DESC LIMIT 1))
LEFT JOIN host ON host.id = attempt.host_id
LEFT JOIN artifact AS console ON console.attempt_id = attempt.id AND console.kind = 'console';

-- One row a condition of a run, of excluded blocks as well.
CREATE VIEW v_condition AS
SELECT evaluation.uid      AS evaluation,
       experiment.name     AS experiment,
       arm.name            AS arm,
       block.number        AS block,
       block.repetition    AS repetition,
       block.status        AS block_status,
       boot.position       AS position,
       attempt.uid         AS attempt,
       point.workload      AS workload,
       point.label         AS point,
       run.seq             AS seq,
       run.kind            AS kind,
       run.warmup          AS warmup,
       condition.name      AS condition,
       condition.value     AS value,
       condition.reason    AS reason
FROM evaluation
JOIN experiment ON experiment.id = evaluation.experiment_id
JOIN block ON block.evaluation_id = evaluation.id
JOIN boot ON boot.block_id = block.id
JOIN arm ON arm.id = boot.arm_id
JOIN attempt ON attempt.id = coalesce(
    boot.accepted_attempt_id,
    (SELECT a.id FROM attempt AS a WHERE a.boot_id = boot.id ORDER BY a.number DESC LIMIT 1))
JOIN run ON run.attempt_id = attempt.id
JOIN point ON point.id = run.point_id
JOIN condition ON condition.run_id = run.id;

-- One row a kernel symbol of a profiled run that counts.
CREATE VIEW v_profile AS
SELECT evaluation.uid         AS evaluation,
       experiment.name        AS experiment,
       arm.name               AS arm,
       arm.role               AS role,
       block.number           AS block,
       point.workload         AS workload,
       point.label            AS point,
       run.seq                AS seq,
       run.iteration          AS iteration,
       profile_symbol.symbol  AS symbol,
       profile_symbol.caller  AS caller,
       profile_symbol.samples AS samples,
       profile_symbol.share   AS share
FROM evaluation
JOIN experiment ON experiment.id = evaluation.experiment_id
JOIN block ON block.evaluation_id = evaluation.id AND block.status = 'complete' AND block.number > 0
JOIN boot ON boot.block_id = block.id
JOIN arm ON arm.id = boot.arm_id
JOIN attempt ON attempt.id = boot.accepted_attempt_id AND attempt.outcome = 'ok'
JOIN run ON run.attempt_id = attempt.id
JOIN point ON point.id = run.point_id
JOIN profile_symbol ON profile_symbol.run_id = run.id;
