-- The results database, version 1. Meaning of every column: docs/database.md.
-- Times named *_at are UTC nanoseconds since 1970, durations *_ns are nanoseconds.
-- A migration that has been released is never edited: write the next one instead.

CREATE TABLE migration (
    number     INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL,
    sha256     TEXT    NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT;

CREATE TABLE experiment (
    id         INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL UNIQUE CHECK (name <> ''),
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE evaluation (
    id              INTEGER PRIMARY KEY,
    uid             TEXT    NOT NULL UNIQUE CHECK (length(uid) = 26),
    experiment_id   INTEGER NOT NULL REFERENCES experiment (id),
    question        TEXT    NOT NULL DEFAULT '',
    status          TEXT    NOT NULL DEFAULT 'queued'
                    CHECK (status IN ('queued', 'freezing', 'building', 'running', 'done', 'failed', 'cancelled')),
    detail          TEXT    NOT NULL DEFAULT '',
    fault           TEXT    NOT NULL DEFAULT '' CHECK (fault = '' OR status = 'failed'),
    verdict         TEXT    NOT NULL DEFAULT '',
    spec_file       TEXT    NOT NULL DEFAULT '',
    spec_text       TEXT    NOT NULL,
    spec_hash       TEXT    NOT NULL,
    plan_text       TEXT    NOT NULL,
    plan_hash       TEXT    NOT NULL,
    experiment_json TEXT    NOT NULL CHECK (json_valid(experiment_json)),
    seed            TEXT    NOT NULL CHECK (seed <> '' AND seed NOT GLOB '*[^0-9]*'),
    idempotency_key TEXT    UNIQUE,
    looks_done      INTEGER NOT NULL DEFAULT 0 CHECK (looks_done >= 0),
    created_at      INTEGER NOT NULL,
    started_at      INTEGER,
    finished_at     INTEGER,
    CHECK ((status IN ('done', 'failed', 'cancelled')) = (finished_at IS NOT NULL))
) STRICT;
CREATE INDEX evaluation_by_experiment ON evaluation (experiment_id, created_at);
CREATE INDEX evaluation_by_age ON evaluation (created_at);
CREATE INDEX evaluation_unfinished ON evaluation (created_at) WHERE finished_at IS NULL;

CREATE TABLE kernel (
    id             INTEGER PRIMARY KEY,
    key            TEXT    NOT NULL UNIQUE CHECK (key <> ''),
    origin         TEXT    NOT NULL DEFAULT '',
    base_commit    TEXT    NOT NULL DEFAULT '',
    tree           TEXT    NOT NULL DEFAULT '',
    release        TEXT    NOT NULL DEFAULT '',
    config_hash    TEXT    NOT NULL DEFAULT '',
    toolchain      TEXT    NOT NULL DEFAULT '',
    patches        TEXT    NOT NULL DEFAULT '[]' CHECK (json_valid(patches)),
    frozen         TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(frozen)),
    path           TEXT    NOT NULL DEFAULT '',
    format         TEXT    NOT NULL DEFAULT '',
    image_hash     TEXT    NOT NULL DEFAULT '',
    code_signature TEXT    NOT NULL DEFAULT '',
    compiler       TEXT    NOT NULL DEFAULT '',
    modules        TEXT    NOT NULL DEFAULT '',
    log_path       TEXT    NOT NULL DEFAULT '',
    config_path    TEXT    NOT NULL DEFAULT '',
    wall_ns        INTEGER NOT NULL DEFAULT 0 CHECK (wall_ns >= 0),
    cpu_ns         INTEGER NOT NULL DEFAULT 0 CHECK (cpu_ns >= 0),
    objects        INTEGER NOT NULL DEFAULT 0 CHECK (objects >= 0),
    built_at       INTEGER
) STRICT;
CREATE INDEX kernel_by_code ON kernel (code_signature);

CREATE TABLE arm (
    id             INTEGER PRIMARY KEY,
    evaluation_id  INTEGER NOT NULL REFERENCES evaluation (id),
    position       INTEGER NOT NULL CHECK (position >= 0),
    name           TEXT    NOT NULL CHECK (name <> ''),
    against_id     INTEGER REFERENCES arm (id),
    control        INTEGER NOT NULL DEFAULT 0 CHECK (control IN (0, 1)),
    status         TEXT    NOT NULL DEFAULT 'pending'
                   CHECK (status IN ('pending', 'building', 'ready', 'failed', 'stopped')),
    detail         TEXT    NOT NULL DEFAULT '',
    kernel_request TEXT    NOT NULL CHECK (json_valid(kernel_request)),
    kernel_id      INTEGER REFERENCES kernel (id),
    UNIQUE (evaluation_id, name),
    UNIQUE (evaluation_id, position)
) STRICT;
CREATE INDEX arm_by_kernel ON arm (kernel_id);
CREATE INDEX arm_by_against ON arm (against_id);

CREATE TABLE point (
    id            INTEGER PRIMARY KEY,
    evaluation_id INTEGER NOT NULL REFERENCES evaluation (id),
    workload      TEXT    NOT NULL CHECK (workload <> ''),
    number        INTEGER NOT NULL CHECK (number >= 0),
    label         TEXT    NOT NULL DEFAULT '',
    parameters    TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(parameters)),
    UNIQUE (evaluation_id, workload, number),
    UNIQUE (evaluation_id, workload, label)
) STRICT;

CREATE TABLE metric (
    id            INTEGER PRIMARY KEY,
    evaluation_id INTEGER NOT NULL REFERENCES evaluation (id),
    workload      TEXT    NOT NULL CHECK (workload <> ''),
    name          TEXT    NOT NULL CHECK (name <> ''),
    unit          TEXT    NOT NULL,
    better        TEXT    NOT NULL CHECK (better IN ('lower', 'higher', 'neither')),
    scale         TEXT    NOT NULL CHECK (scale IN ('log', 'linear')),
    UNIQUE (evaluation_id, workload, name)
) STRICT;

CREATE TABLE host (
    id           INTEGER PRIMARY KEY,
    uid          TEXT    NOT NULL UNIQUE CHECK (uid <> ''),
    name         TEXT    NOT NULL UNIQUE CHECK (name <> ''),
    kind         TEXT    NOT NULL CHECK (kind <> ''),
    status       TEXT    NOT NULL CHECK (status IN ('up', 'down')),
    properties   TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(properties)),
    last_seen_at INTEGER NOT NULL
) STRICT;

CREATE TABLE block (
    id            INTEGER PRIMARY KEY,
    evaluation_id INTEGER NOT NULL REFERENCES evaluation (id),
    number        INTEGER NOT NULL CHECK (number >= 1),
    repetition    INTEGER NOT NULL DEFAULT 1 CHECK (repetition >= 1),
    status        TEXT    NOT NULL DEFAULT 'running' CHECK (status IN ('running', 'complete', 'excluded')),
    detail        TEXT    NOT NULL DEFAULT '',
    started_at    INTEGER NOT NULL,
    finished_at   INTEGER,
    UNIQUE (evaluation_id, number, repetition),
    CHECK ((status = 'running') = (finished_at IS NULL))
) STRICT;
-- A block number counts at most once, however often it was booted.
CREATE UNIQUE INDEX block_counts_once ON block (evaluation_id, number) WHERE status <> 'excluded';

CREATE TABLE boot (
    id                  INTEGER PRIMARY KEY,
    uid                 TEXT    NOT NULL UNIQUE CHECK (length(uid) = 26),
    block_id            INTEGER NOT NULL REFERENCES block (id),
    arm_id              INTEGER NOT NULL REFERENCES arm (id),
    position            INTEGER NOT NULL CHECK (position >= 1),
    status              TEXT    NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'running', 'done')),
    outcome             TEXT    CHECK (outcome IN ('ok', 'boot-failure', 'kernel-crash', 'hang', 'workload-error',
                                                   'infra-error', 'cancelled')),
    detail              TEXT    NOT NULL DEFAULT '',
    accepted_attempt_id INTEGER,
    UNIQUE (block_id, arm_id),
    UNIQUE (block_id, position),
    CHECK ((status = 'done') = (outcome IS NOT NULL)),
    -- The accepted attempt is one of this very boot.
    FOREIGN KEY (accepted_attempt_id, id) REFERENCES attempt (id, boot_id)
) STRICT;
CREATE INDEX boot_by_arm ON boot (arm_id);

CREATE TABLE attempt (
    id            INTEGER PRIMARY KEY,
    uid           TEXT    NOT NULL UNIQUE CHECK (length(uid) = 26),
    boot_id       INTEGER NOT NULL REFERENCES boot (id),
    number        INTEGER NOT NULL CHECK (number >= 1),
    host_id       INTEGER NOT NULL REFERENCES host (id),
    status        TEXT    NOT NULL DEFAULT 'dispatched' CHECK (status IN ('dispatched', 'finished')),
    outcome       TEXT    CHECK (outcome IN ('ok', 'boot-failure', 'kernel-crash', 'hang', 'workload-error',
                                             'infra-error', 'cancelled')),
    detail        TEXT    NOT NULL DEFAULT '',
    lost          INTEGER NOT NULL DEFAULT 0 CHECK (lost IN (0, 1)),
    accel         TEXT    NOT NULL DEFAULT '',
    accel_reason  TEXT    NOT NULL DEFAULT '',
    machine       TEXT    NOT NULL DEFAULT '',
    emulator      TEXT    NOT NULL DEFAULT '',
    channel       TEXT    NOT NULL DEFAULT '',
    environment   TEXT    CHECK (environment IS NULL OR json_valid(environment)),
    setup_ns      INTEGER,
    hello_ns      INTEGER,
    work_ns       INTEGER,
    teardown_ns   INTEGER,
    false_starts  INTEGER NOT NULL DEFAULT 0 CHECK (false_starts >= 0),
    dispatched_at INTEGER NOT NULL,
    finished_at   INTEGER,
    UNIQUE (boot_id, number),
    UNIQUE (id, boot_id),
    CHECK ((status = 'finished') = (outcome IS NOT NULL)),
    CHECK ((status = 'finished') = (finished_at IS NOT NULL))
) STRICT;
CREATE INDEX attempt_by_host ON attempt (host_id);

CREATE TABLE run (
    id         INTEGER PRIMARY KEY,
    attempt_id INTEGER NOT NULL REFERENCES attempt (id),
    seq        INTEGER NOT NULL CHECK (seq >= 1),
    point_id   INTEGER NOT NULL REFERENCES point (id),
    iteration  INTEGER NOT NULL CHECK (iteration >= 0),
    warmup     INTEGER NOT NULL CHECK (warmup IN (0, 1)),
    kind       TEXT    NOT NULL CHECK (kind IN ('timed', 'counted')),
    started_ns INTEGER NOT NULL,
    UNIQUE (attempt_id, seq)
) STRICT;

-- A value, or the reason why there is none: never a 0 in its place.
CREATE TABLE sample (
    run_id     INTEGER NOT NULL REFERENCES run (id),
    metric_id  INTEGER NOT NULL REFERENCES metric (id),
    value      REAL,
    reason     TEXT    CHECK (reason <> ''),
    enabled_ns INTEGER CHECK (enabled_ns >= 0),
    running_ns INTEGER CHECK (running_ns >= 0),
    PRIMARY KEY (run_id, metric_id),
    CHECK ((value IS NULL) <> (reason IS NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE profile_symbol (
    run_id  INTEGER NOT NULL REFERENCES run (id),
    symbol  TEXT    NOT NULL CHECK (symbol <> ''),
    caller  TEXT    NOT NULL DEFAULT '',
    samples INTEGER NOT NULL CHECK (samples >= 0),
    share   REAL    NOT NULL CHECK (share >= 0 AND share <= 1),
    PRIMARY KEY (run_id, symbol, caller)
) STRICT, WITHOUT ROWID;

CREATE TABLE console_event (
    id         INTEGER PRIMARY KEY,
    attempt_id INTEGER NOT NULL REFERENCES attempt (id),
    kind       TEXT    NOT NULL,
    severity   TEXT    NOT NULL,
    signature  TEXT    NOT NULL,
    text       TEXT    NOT NULL,
    line       INTEGER NOT NULL
) STRICT;
CREATE INDEX console_event_by_attempt ON console_event (attempt_id);

CREATE TABLE artifact (
    id         INTEGER PRIMARY KEY,
    attempt_id INTEGER NOT NULL REFERENCES attempt (id),
    kind       TEXT    NOT NULL CHECK (kind <> ''),
    path       TEXT    NOT NULL UNIQUE CHECK (path <> '' AND path NOT LIKE '/%'),
    sha256     TEXT    NOT NULL,
    bytes      INTEGER NOT NULL CHECK (bytes >= 0),
    created_at INTEGER NOT NULL,
    UNIQUE (attempt_id, kind)
) STRICT;

CREATE TABLE comparison (
    id            INTEGER PRIMARY KEY,
    evaluation_id INTEGER NOT NULL REFERENCES evaluation (id),
    look          INTEGER NOT NULL CHECK (look >= 0),
    workload      TEXT    NOT NULL,
    point         TEXT    NOT NULL,
    metric        TEXT    NOT NULL,
    arm_id        INTEGER NOT NULL REFERENCES arm (id),
    against_id    INTEGER NOT NULL REFERENCES arm (id),
    n             INTEGER NOT NULL CHECK (n >= 0),
    is_primary    INTEGER NOT NULL CHECK (is_primary IN (0, 1)),
    material      INTEGER NOT NULL CHECK (material IN (0, 1)),
    fragile       INTEGER NOT NULL CHECK (fragile IN (0, 1)),
    estimate      REAL,
    low           REAL,
    high          REAL,
    level         REAL,
    sd            REAL,
    t             REAL,
    df            REAL,
    p             REAL,
    p_adjusted    REAL,
    p_rank        REAL,
    p_equivalence REAL,
    detectable    REAL,
    p_sequential  REAL,
    rank_estimate REAL,
    rank_low      REAL,
    rank_high     REAL,
    rank_level    REAL,
    margin        REAL,
    spent         REAL,
    decided_at    INTEGER CHECK (decided_at >= 0),
    verdict       TEXT    NOT NULL
                  CHECK (verdict IN ('invalid', 'equivalent', 'improved', 'regressed', 'inconclusive', 'pending', 'none')),
    reason        TEXT    NOT NULL DEFAULT '',
    sentence      TEXT    NOT NULL DEFAULT '',
    UNIQUE (evaluation_id, look, workload, point, metric, arm_id)
) STRICT;
CREATE INDEX comparison_by_arm ON comparison (arm_id);
CREATE INDEX comparison_by_against ON comparison (against_id);

-- Every status change, in the order it was committed; the event stream reads it.
CREATE TABLE transition (
    seq           INTEGER PRIMARY KEY AUTOINCREMENT,
    at            INTEGER NOT NULL,
    evaluation_id INTEGER REFERENCES evaluation (id),
    object        TEXT    NOT NULL CHECK (object IN ('evaluation', 'arm', 'block', 'boot', 'attempt', 'host')),
    name          TEXT    NOT NULL,
    from_status   TEXT    NOT NULL,
    to_status     TEXT    NOT NULL,
    detail        TEXT    NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX transition_by_evaluation ON transition (evaluation_id);

-- ---- the stable contract ----

-- One row a sample that counts: of the accepted attempt of a boot that ended ok, in a complete block.
CREATE VIEW v_sample AS
SELECT evaluation.uid      AS evaluation,
       experiment.name     AS experiment,
       arm.name            AS arm,
       arm.control         AS control,
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
JOIN block ON block.evaluation_id = evaluation.id AND block.status = 'complete'
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
       block.number         AS block,
       block.repetition     AS repetition,
       block.status         AS block_status,
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
