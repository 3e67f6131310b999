-- What `ralph plan` asked agents for; shown in the history beside the attempts on tasks.
CREATE TABLE plan_sessions (
    id             INTEGER PRIMARY KEY,
    goal           TEXT NOT NULL,
    round          INTEGER NOT NULL,
    run_id         TEXT NOT NULL,
    -- The process that asks; what the agent calls is inside it.
    host           TEXT NOT NULL,
    pid            INTEGER NOT NULL,
    pid_started    TEXT NOT NULL,
    agent          TEXT NOT NULL,
    model          TEXT NOT NULL,
    started_at     TEXT NOT NULL,
    duration_ms    INTEGER NOT NULL,
    -- NULL while it goes on, or where Ralph died meanwhile.
    outcome        TEXT CHECK (outcome IN ('done', 'failed', 'no_sigil', 'error')),
    error_type     TEXT,
    message        TEXT,
    cost_usd       REAL,
    cost_estimated INTEGER NOT NULL,
    tokens_input   INTEGER,
    tokens_output  INTEGER,
    session_id     TEXT,
    log_path       TEXT
);
