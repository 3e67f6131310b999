-- What happened: runs, claims, events, attempts, reports, learnings, kept counters.
CREATE TABLE runs (
    id          TEXT PRIMARY KEY,
    started_at  TEXT NOT NULL,
    ended_at    TEXT,
    outcome     TEXT,
    exit_code   INTEGER,
    settings    TEXT NOT NULL,
    host        TEXT NOT NULL,
    pid         INTEGER NOT NULL,
    pid_started TEXT NOT NULL,
    -- Kept by capture.
    attempts    INTEGER NOT NULL DEFAULT 0,
    done        INTEGER NOT NULL DEFAULT 0,
    cost_usd    REAL NOT NULL DEFAULT 0
);
CREATE INDEX idx_runs_ended_at ON runs (ended_at);
CREATE INDEX idx_runs_started_at ON runs (started_at);

CREATE TABLE claims (
    task_id      TEXT PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    run_id       TEXT NOT NULL,
    worker       TEXT NOT NULL,
    host         TEXT NOT NULL,
    pid          INTEGER NOT NULL,
    pid_started  TEXT NOT NULL,
    token        TEXT NOT NULL,
    claimed_at   TEXT NOT NULL,
    heartbeat_at TEXT NOT NULL,
    expires_at   TEXT NOT NULL,
    purpose      TEXT NOT NULL CHECK (purpose IN ('attempt', 'gate')),
    -- What is known of the attempt under way, so that it can be recorded if its process dies.
    attempt_number INTEGER NOT NULL DEFAULT 0,
    iteration     INTEGER,
    agent         TEXT,
    model         TEXT,
    rationale     TEXT,
    started_at    TEXT,
    commit_before TEXT,
    log_path      TEXT,
    work_dir      TEXT
) WITHOUT ROWID;
CREATE TRIGGER claims_taken AFTER INSERT ON claims BEGIN
    UPDATE tasks SET status = 'in_progress' WHERE id = new.task_id;
END;
CREATE TRIGGER claims_released AFTER DELETE ON claims BEGIN
    UPDATE tasks SET status = 'pending' WHERE id = old.task_id AND status = 'in_progress';
END;

CREATE TABLE run_events (
    run_id TEXT NOT NULL,
    seq    INTEGER NOT NULL,
    at     TEXT NOT NULL,
    type   TEXT NOT NULL,
    json   TEXT NOT NULL,
    PRIMARY KEY (run_id, seq)
) WITHOUT ROWID;

CREATE TABLE iteration_outcomes (
    task_id        TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    attempt_number INTEGER NOT NULL,
    model          TEXT NOT NULL,
    started_at     TEXT NOT NULL,
    duration_ms    INTEGER NOT NULL,
    tokens_input   INTEGER,
    tokens_output  INTEGER,
    outcome        TEXT NOT NULL CHECK (outcome IN ('done', 'failed', 'no_sigil', 'error')),
    error_type     TEXT,
    -- The number people see: the ordinal among counted tries.
    ordinal        INTEGER NOT NULL,
    counted        INTEGER NOT NULL,
    run_id         TEXT,
    iteration      INTEGER,
    worker         TEXT,
    work_dir       TEXT,
    agent          TEXT,
    cost_usd       REAL,
    tokens_cache_read  INTEGER,
    tokens_cache_write INTEGER,
    session_id     TEXT,
    agent_model    TEXT,
    rationale      TEXT,
    fingerprint_coarse TEXT,
    fingerprint_fine   TEXT,
    commit_before  TEXT,
    commit_after   TEXT,
    files_changed  TEXT,
    gate_outcome   TEXT,
    gate_flaky     INTEGER NOT NULL DEFAULT 0,
    gate_green_before INTEGER,
    gate_files_changed TEXT NOT NULL DEFAULT '[]',
    gate_output    TEXT,
    log_path       TEXT,
    summary        TEXT,
    message        TEXT,
    denials        TEXT NOT NULL DEFAULT '[]',
    service_retries INTEGER NOT NULL DEFAULT 0,
    limit_notice   TEXT,
    PRIMARY KEY (task_id, attempt_number)
);
CREATE INDEX idx_iteration_outcomes_task_id ON iteration_outcomes (task_id);
CREATE INDEX idx_iteration_outcomes_started_at ON iteration_outcomes (started_at);
CREATE INDEX idx_iteration_outcomes_model_outcome ON iteration_outcomes (model, outcome);
CREATE INDEX idx_iteration_outcomes_run_id ON iteration_outcomes (run_id);

CREATE TABLE failure_reports (
    task_id        TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    attempt_number INTEGER NOT NULL,
    what_was_tried TEXT NOT NULL,
    why_it_failed  TEXT NOT NULL,
    error_category TEXT,
    relevant_files TEXT,
    stack_trace_snippet TEXT,
    retry_suggestion TEXT,
    excerpt        TEXT,
    auto           INTEGER NOT NULL DEFAULT 0,
    created_at     TEXT NOT NULL,
    PRIMARY KEY (task_id, attempt_number),
    FOREIGN KEY (task_id, attempt_number)
        REFERENCES iteration_outcomes (task_id, attempt_number) ON DELETE CASCADE
);
CREATE INDEX idx_failure_reports_task_id ON failure_reports (task_id);
CREATE INDEX idx_failure_reports_error_category ON failure_reports (error_category);

CREATE TABLE learnings (
    id             TEXT PRIMARY KEY,
    task_id        TEXT REFERENCES tasks (id) ON DELETE SET NULL,
    category       TEXT NOT NULL,
    content        TEXT NOT NULL,
    relevance_tags TEXT NOT NULL,
    created_at     TEXT NOT NULL,
    pruned_at      TEXT,
    superseded_by  TEXT REFERENCES learnings (id) ON DELETE SET NULL,
    shown          INTEGER NOT NULL DEFAULT 0,
    helpful        INTEGER NOT NULL DEFAULT 0,
    harmful        INTEGER NOT NULL DEFAULT 0,
    last_used_at   TEXT,
    pinned         INTEGER NOT NULL DEFAULT 0,
    source         TEXT NOT NULL DEFAULT 'agent'
);
CREATE INDEX idx_learnings_task_id ON learnings (task_id);
CREATE INDEX idx_learnings_created_at ON learnings (created_at);
CREATE INDEX idx_learnings_pruned_at ON learnings (pruned_at);
CREATE INDEX idx_learnings_category ON learnings (category);
CREATE INDEX idx_learnings_superseded_by ON learnings (superseded_by);

CREATE TABLE strategy_metrics (
    task_id              TEXT PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    total_attempts       INTEGER NOT NULL DEFAULT 0,
    consecutive_failures INTEGER NOT NULL DEFAULT 0,
    last_attempt_at      TEXT,
    last_success_at      TEXT,
    difficulty_estimate  TEXT,
    suggested_model      TEXT,
    stuck_flag           INTEGER NOT NULL DEFAULT 0,
    -- The model the last attempt asked for, and lost tries since the last that was not lost.
    next_model           TEXT,
    lost_in_a_row        INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX idx_strategy_metrics_stuck_flag ON strategy_metrics (stuck_flag);
CREATE INDEX idx_strategy_metrics_consecutive_failures ON strategy_metrics (consecutive_failures);

-- Sums over iteration_outcomes, so that no display adds them up again.
CREATE TABLE totals (
    id       INTEGER PRIMARY KEY CHECK (id = 1),
    attempts INTEGER NOT NULL,
    cost_usd REAL NOT NULL
);
INSERT INTO totals (id, attempts, cost_usd) VALUES (1, 0, 0);
CREATE TRIGGER outcomes_added AFTER INSERT ON iteration_outcomes BEGIN
    UPDATE totals SET attempts = attempts + new.counted, cost_usd = cost_usd + coalesce(new.cost_usd, 0);
END;
CREATE TRIGGER outcomes_removed AFTER DELETE ON iteration_outcomes BEGIN
    UPDATE totals SET attempts = attempts - old.counted, cost_usd = cost_usd - coalesce(old.cost_usd, 0);
END;

CREATE TABLE breaker (
    id        INTEGER PRIMARY KEY CHECK (id = 1),
    state     TEXT NOT NULL CHECK (state IN ('closed', 'open', 'half_open')),
    failures  INTEGER NOT NULL,
    opened_at TEXT
);
INSERT INTO breaker (id, state, failures, opened_at) VALUES (1, 'closed', 0, NULL);

-- Until when an agent is limited; remembered over runs.
CREATE TABLE agent_limits (
    agent  TEXT PRIMARY KEY,
    until  TEXT NOT NULL,
    reason TEXT NOT NULL
);
