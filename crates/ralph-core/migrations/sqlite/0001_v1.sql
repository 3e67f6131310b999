-- The schema of an earlier Ralph; a new file starts here too, so that there is one path to the present.
CREATE TABLE IF NOT EXISTS tasks (
    id          TEXT PRIMARY KEY,
    parent_id   TEXT,
    title       TEXT NOT NULL,
    description TEXT,
    status      TEXT NOT NULL DEFAULT 'pending',
    priority    INTEGER NOT NULL DEFAULT 0,
    created_at  TEXT,
    updated_at  TEXT,
    claimed_by  TEXT
);
CREATE TABLE IF NOT EXISTS dependencies (
    blocker_id TEXT NOT NULL,
    blocked_id TEXT NOT NULL,
    PRIMARY KEY (blocker_id, blocked_id)
);
CREATE TABLE IF NOT EXISTS task_logs (
    id        INTEGER PRIMARY KEY,
    task_id   TEXT NOT NULL,
    message   TEXT NOT NULL,
    timestamp TEXT
);
