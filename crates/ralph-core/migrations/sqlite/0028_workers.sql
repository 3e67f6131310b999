-- The workers of runs that have several, while they live. A working tree belongs to at most one of them.
CREATE TABLE workers (
    run_id      TEXT NOT NULL,
    worker      TEXT NOT NULL,
    host        TEXT NOT NULL,
    pid         INTEGER NOT NULL,
    pid_started TEXT NOT NULL,
    expires_at  TEXT NOT NULL,
    work_tree   TEXT NOT NULL UNIQUE,
    PRIMARY KEY (run_id, worker)
);
-- How many workers a run has, and the branch that their work lands on; none for a run in the project's own tree.
ALTER TABLE runs ADD COLUMN jobs INTEGER NOT NULL DEFAULT 1;
ALTER TABLE runs ADD COLUMN branch TEXT;
-- Counted attempts of agents, without gates of parents.
ALTER TABLE runs ADD COLUMN iterations INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET iterations =
    (SELECT count(*) FROM iteration_outcomes o WHERE o.run_id = runs.id AND o.counted AND o.agent IS NOT NULL)
WHERE ended_at IS NULL;
-- What an attempt under way is at, and what it may cost.
ALTER TABLE claims ADD COLUMN stage TEXT;
ALTER TABLE claims ADD COLUMN reserved_usd REAL NOT NULL DEFAULT 0;
-- Attempts in a row whose work was good and did not go together with what others had landed.
ALTER TABLE strategy_metrics ADD COLUMN landing_failures INTEGER NOT NULL DEFAULT 0;
CREATE TABLE conflicts (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id        TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    attempt_number INTEGER NOT NULL,
    run_id         TEXT,
    at             TEXT NOT NULL,
    kind           TEXT NOT NULL CHECK (kind IN ('conflict', 'integration_failure')),
    -- The tasks whose landed work it does not go together with, as JSON.
    others         TEXT NOT NULL,
    -- The files in question, as JSON, and what the attempt and the others did to them.
    files          TEXT NOT NULL,
    own_diff       TEXT NOT NULL,
    landed_diff    TEXT NOT NULL
);
CREATE INDEX conflicts_of_task ON conflicts (task_id);
