-- The phase a task belongs to: its own, else the one its key begins with (`12-01`).
ALTER TABLE tasks ADD COLUMN whole_phase REAL GENERATED ALWAYS AS (coalesce(phase,
    CASE WHEN key GLOB '[0-9]*-[0-9]*' AND key NOT GLOB '*[^0-9.-]*' THEN CAST(key AS REAL) END)) VIRTUAL;
CREATE INDEX idx_tasks_whole_phase ON tasks (whole_phase) WHERE status NOT IN ('done', 'skipped');

-- Failures as AGENTS.md shows them: one row per task and cause, until every task of the phase is finished.
CREATE TABLE failure_entries (
    task_id        TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    cause          TEXT NOT NULL,
    times          INTEGER NOT NULL,
    attempt_number INTEGER NOT NULL,
    at             TEXT NOT NULL,
    last_good      TEXT,
    PRIMARY KEY (task_id, cause)
) WITHOUT ROWID;
CREATE INDEX idx_failure_entries_at ON failure_entries (at);
-- The commit after the last attempt that was done.
ALTER TABLE totals ADD COLUMN last_good TEXT;

-- What the file held when Ralph last wrote it, and how it looked after earlier writes.
CREATE TABLE agents_md_bullets (
    path        TEXT NOT NULL,
    learning_id TEXT NOT NULL REFERENCES learnings (id) ON DELETE CASCADE,
    section     TEXT NOT NULL,
    PRIMARY KEY (path, learning_id)
) WITHOUT ROWID;
CREATE INDEX idx_agents_md_bullets_learning_id ON agents_md_bullets (learning_id);
-- Under which names Ralph wrote failures: entries of other names are somebody else's.
CREATE TABLE agents_md_names (
    path TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (path, name)
) WITHOUT ROWID;
CREATE TABLE agents_md_writes (
    place  INTEGER PRIMARY KEY AUTOINCREMENT,
    path   TEXT NOT NULL,
    branch TEXT,
    digest TEXT NOT NULL
);
CREATE INDEX idx_agents_md_writes_path ON agents_md_writes (path, digest);
