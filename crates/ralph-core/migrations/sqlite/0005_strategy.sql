-- Attempts again, with defaults, so that another program can add one with the columns it knows; and the tests that failed.
CREATE TABLE iteration_outcomes_new (
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
    ordinal        INTEGER NOT NULL DEFAULT 0,
    counted        INTEGER NOT NULL DEFAULT 1,
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
    -- Which tests failed, so that a shrinking set can be seen.
    failing_tests  TEXT,
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
INSERT INTO iteration_outcomes_new (
    task_id, attempt_number, model, started_at, duration_ms, tokens_input, tokens_output, outcome, error_type,
    ordinal, counted, run_id, iteration, worker, work_dir, agent, cost_usd, tokens_cache_read, tokens_cache_write,
    session_id, agent_model, rationale, fingerprint_coarse, fingerprint_fine, commit_before, commit_after,
    files_changed, gate_outcome, gate_flaky, gate_green_before, gate_files_changed, gate_output, log_path,
    summary, message, denials, service_retries, limit_notice)
SELECT
    task_id, attempt_number, model, started_at, duration_ms, tokens_input, tokens_output, outcome, error_type,
    ordinal, counted, run_id, iteration, worker, work_dir, agent, cost_usd, tokens_cache_read, tokens_cache_write,
    session_id, agent_model, rationale, fingerprint_coarse, fingerprint_fine, commit_before, commit_after,
    files_changed, gate_outcome, gate_flaky, gate_green_before, gate_files_changed, gate_output, log_path,
    summary, message, denials, service_retries, limit_notice
FROM iteration_outcomes;
DROP TABLE iteration_outcomes;
ALTER TABLE iteration_outcomes_new RENAME TO iteration_outcomes;
CREATE INDEX idx_iteration_outcomes_task_id ON iteration_outcomes (task_id);
CREATE INDEX idx_iteration_outcomes_started_at ON iteration_outcomes (started_at);
CREATE INDEX idx_iteration_outcomes_model_outcome ON iteration_outcomes (model, outcome);
CREATE INDEX idx_iteration_outcomes_run_id ON iteration_outcomes (run_id);
CREATE TRIGGER outcomes_added AFTER INSERT ON iteration_outcomes BEGIN
    UPDATE totals SET attempts = attempts + new.counted, cost_usd = cost_usd + coalesce(new.cost_usd, 0);
END;
CREATE TRIGGER outcomes_removed AFTER DELETE ON iteration_outcomes BEGIN
    UPDATE totals SET attempts = attempts - old.counted, cost_usd = cost_usd - coalesce(old.cost_usd, 0);
END;
CREATE TRIGGER outcomes_numbered AFTER INSERT ON iteration_outcomes WHEN new.ordinal = 0 BEGIN
    UPDATE iteration_outcomes SET ordinal = (
        SELECT count(*) FROM iteration_outcomes
        WHERE task_id = new.task_id AND counted AND attempt_number < new.attempt_number) + 1
    WHERE task_id = new.task_id AND attempt_number = new.attempt_number;
END;
