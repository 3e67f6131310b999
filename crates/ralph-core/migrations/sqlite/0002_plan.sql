-- The plan: tasks with their kept counters, dependencies, log lines. Rows of version 1 are carried over.
CREATE TABLE IF NOT EXISTS dependencies (blocker_id TEXT, blocked_id TEXT);
CREATE TABLE IF NOT EXISTS task_logs (id INTEGER PRIMARY KEY, task_id TEXT, message TEXT, timestamp TEXT);
ALTER TABLE tasks RENAME TO tasks_v1;
ALTER TABLE dependencies RENAME TO dependencies_v1;
ALTER TABLE task_logs RENAME TO task_logs_v1;

CREATE TABLE tasks (
    id          TEXT PRIMARY KEY,
    -- Plan order.
    position    INTEGER NOT NULL UNIQUE,
    key         TEXT UNIQUE,
    parent_id   TEXT REFERENCES tasks (id) ON DELETE SET NULL,
    title       TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    status      TEXT NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'in_progress', 'done', 'failed', 'blocked', 'skipped')),
    phase       REAL,
    priority    INTEGER NOT NULL DEFAULT 0,
    verify      TEXT,
    files       TEXT NOT NULL DEFAULT '[]',
    model       TEXT,
    needs_human INTEGER NOT NULL DEFAULT 0,
    reason      TEXT,
    -- Kept by the triggers below: dependencies and children that are neither done nor skipped.
    open_deps     INTEGER NOT NULL DEFAULT 0,
    child_count   INTEGER NOT NULL DEFAULT 0,
    open_children INTEGER NOT NULL DEFAULT 0,
    -- Kept by the store, because a trigger cannot walk a tree.
    failed_ancestors INTEGER NOT NULL DEFAULT 0,
    -- A parent whose own gate failed after its children were done is to be worked on itself.
    own_work    INTEGER NOT NULL DEFAULT 0,
    created_at  TEXT NOT NULL,
    updated_at  TEXT NOT NULL,
    ready INTEGER GENERATED ALWAYS AS (
        status = 'pending' AND open_deps = 0 AND open_children = 0 AND failed_ancestors = 0
        AND (child_count = 0 OR own_work = 1)
    ) VIRTUAL,
    gate_due INTEGER GENERATED ALWAYS AS (
        status = 'pending' AND child_count > 0 AND open_children = 0 AND open_deps = 0
        AND own_work = 0 AND failed_ancestors = 0
    ) VIRTUAL
);
CREATE TABLE dependencies (
    blocker_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    blocked_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    PRIMARY KEY (blocker_id, blocked_id)
) WITHOUT ROWID;
CREATE TABLE task_logs (
    id        INTEGER PRIMARY KEY,
    task_id   TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    message   TEXT NOT NULL,
    timestamp TEXT NOT NULL
);
-- How many tasks have each status, so that no display counts them again.
CREATE TABLE task_counts (
    status TEXT PRIMARY KEY,
    n      INTEGER NOT NULL
) WITHOUT ROWID;

INSERT INTO tasks (id, position, parent_id, title, description, status, priority, created_at, updated_at)
-- Version 1 wrote times as it liked: seconds or milliseconds since 1970 or some ISO form; all become RFC 3339.
SELECT coalesce(id, printf('t-%06x', rowid)),
       row_number() OVER (ORDER BY created_at, rowid),
       -- A parent that is not there is none.
       CASE WHEN parent_id IN (SELECT p.id FROM tasks_v1 p) THEN parent_id END,
       coalesce(title, ''),
       coalesce(description, ''),
       -- Version 1 has no person to wait for: its blocked and claimed tasks are simply to be done.
       CASE WHEN status IN ('done', 'failed', 'skipped') THEN status ELSE 'pending' END,
       coalesce(priority, 0),
       coalesce(iif(created_at NOT GLOB '*[^0-9.]*' AND created_at + 0 > 100000000,
                    strftime('%Y-%m-%dT%H:%M:%fZ', created_at / iif(created_at + 0 > 100000000000, 1000.0, 1), 'unixepoch'),
                    strftime('%Y-%m-%dT%H:%M:%fZ', created_at)), strftime('%Y-%m-%dT%H:%M:%fZ')),
       coalesce(iif(updated_at NOT GLOB '*[^0-9.]*' AND updated_at + 0 > 100000000,
                    strftime('%Y-%m-%dT%H:%M:%fZ', updated_at / iif(updated_at + 0 > 100000000000, 1000.0, 1), 'unixepoch'),
                    strftime('%Y-%m-%dT%H:%M:%fZ', updated_at)), strftime('%Y-%m-%dT%H:%M:%fZ'))
FROM tasks_v1;
INSERT INTO dependencies (blocker_id, blocked_id)
SELECT DISTINCT coalesce(blocker_id, ''), coalesce(blocked_id, '') FROM dependencies_v1;
INSERT INTO task_logs (id, task_id, message, timestamp)
SELECT CASE WHEN typeof(id) = 'integer' THEN id END, coalesce(task_id, ''), coalesce(message, ''),
       coalesce(iif(timestamp NOT GLOB '*[^0-9.]*' AND timestamp + 0 > 100000000,
                    strftime('%Y-%m-%dT%H:%M:%fZ', timestamp / iif(timestamp + 0 > 100000000000, 1000.0, 1), 'unixepoch'),
                    strftime('%Y-%m-%dT%H:%M:%fZ', timestamp)), strftime('%Y-%m-%dT%H:%M:%fZ'))
FROM task_logs_v1;
DROP TABLE task_logs_v1;
DROP TABLE dependencies_v1;
DROP TABLE tasks_v1;

CREATE INDEX idx_tasks_parent_id ON tasks (parent_id, position);
-- Only those that wait for a person: the others change status with every attempt.
CREATE INDEX idx_tasks_held ON tasks (position) WHERE status IN ('blocked', 'failed');
CREATE INDEX idx_tasks_ready ON tasks (priority, position) WHERE ready = 1;
CREATE INDEX idx_tasks_gate_due ON tasks (priority, position) WHERE gate_due = 1;
CREATE INDEX idx_dependencies_blocked_id ON dependencies (blocked_id);
CREATE INDEX idx_task_logs_task_id ON task_logs (task_id);

UPDATE tasks SET open_deps = (
    SELECT count(*) FROM dependencies d JOIN tasks b ON b.id = d.blocker_id
    WHERE d.blocked_id = tasks.id AND b.status NOT IN ('done', 'skipped'));
UPDATE tasks SET child_count = (SELECT count(*) FROM tasks c WHERE c.parent_id = tasks.id),
    open_children = (SELECT count(*) FROM tasks c
                     WHERE c.parent_id = tasks.id AND c.status NOT IN ('done', 'skipped'));
WITH RECURSIVE below (id, failed) AS (
    SELECT c.id, 1 FROM tasks c JOIN tasks p ON p.id = c.parent_id WHERE p.status = 'failed'
    UNION ALL
    SELECT c.id, b.failed FROM tasks c JOIN below b ON c.parent_id = b.id
    -- A cycle of parents in an old file must not hang the migration.
    LIMIT 10000000
)
UPDATE tasks SET failed_ancestors = f.n
FROM (SELECT id, count(*) AS n FROM below GROUP BY id) AS f WHERE f.id = tasks.id;
INSERT INTO task_counts (status, n)
SELECT s.column1, (SELECT count(*) FROM tasks WHERE status = s.column1)
FROM (VALUES ('pending'), ('in_progress'), ('done'), ('failed'), ('blocked'), ('skipped')) AS s;

CREATE TRIGGER tasks_added AFTER INSERT ON tasks BEGIN
    UPDATE task_counts SET n = n + 1 WHERE status = new.status;
    UPDATE tasks SET child_count = child_count + 1,
        open_children = open_children + (new.status NOT IN ('done', 'skipped'))
    WHERE id = new.parent_id;
END;
CREATE TRIGGER tasks_removed AFTER DELETE ON tasks BEGIN
    UPDATE task_counts SET n = n - 1 WHERE status = old.status;
    UPDATE tasks SET child_count = child_count - 1,
        open_children = open_children - (old.status NOT IN ('done', 'skipped'))
    WHERE id = old.parent_id;
END;
CREATE TRIGGER tasks_status AFTER UPDATE OF status ON tasks WHEN old.status <> new.status BEGIN
    UPDATE task_counts SET n = n - 1 WHERE status = old.status;
    UPDATE task_counts SET n = n + 1 WHERE status = new.status;
    UPDATE tasks SET open_children = open_children
        + (old.status IN ('done', 'skipped')) - (new.status IN ('done', 'skipped'))
    WHERE id = new.parent_id
        AND (old.status IN ('done', 'skipped')) <> (new.status IN ('done', 'skipped'));
    UPDATE tasks SET open_deps = open_deps
        + (old.status IN ('done', 'skipped')) - (new.status IN ('done', 'skipped'))
    WHERE (old.status IN ('done', 'skipped')) <> (new.status IN ('done', 'skipped'))
        AND id IN (SELECT blocked_id FROM dependencies WHERE blocker_id = new.id);
END;
CREATE TRIGGER tasks_moved AFTER UPDATE OF parent_id ON tasks
WHEN old.parent_id IS NOT new.parent_id BEGIN
    UPDATE tasks SET child_count = child_count - 1,
        open_children = open_children - (new.status NOT IN ('done', 'skipped'))
    WHERE id = old.parent_id;
    UPDATE tasks SET child_count = child_count + 1,
        open_children = open_children + (new.status NOT IN ('done', 'skipped'))
    WHERE id = new.parent_id;
END;
CREATE TRIGGER dependencies_added AFTER INSERT ON dependencies BEGIN
    UPDATE tasks SET open_deps = open_deps + 1
    WHERE id = new.blocked_id
        AND EXISTS (SELECT 1 FROM tasks b
                    WHERE b.id = new.blocker_id AND b.status NOT IN ('done', 'skipped'));
END;
-- Before, not after: once the blocker's row is gone its status cannot be asked for.
CREATE TRIGGER dependencies_removed BEFORE DELETE ON dependencies BEGIN
    UPDATE tasks SET open_deps = open_deps - 1
    WHERE id = old.blocked_id
        AND EXISTS (SELECT 1 FROM tasks b
                    WHERE b.id = old.blocker_id AND b.status NOT IN ('done', 'skipped'));
END;
