-- Keys are unique within the file that a task came from, no longer in the whole plan: every spec begins at 1.1. SQLite cannot
-- take a constraint off a column, so the table is made anew.
ALTER TABLE sources ADD COLUMN spec TEXT NOT NULL DEFAULT '';

ALTER TABLE tasks RENAME TO tasks_before;
CREATE TABLE tasks (
    id          TEXT PRIMARY KEY,
    -- Plan order.
    position    INTEGER NOT NULL UNIQUE,
    key         TEXT,
    -- The file whose keys it shares: the one it came from, or that of the task Ralph made it for.
    source_id   INTEGER REFERENCES sources (id) ON DELETE SET NULL,
    -- The name of that file's spec, and whether the key alone does not say which task is meant.
    spec        TEXT,
    spec_shown  INTEGER NOT NULL DEFAULT 0,
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
    open_deps     INTEGER NOT NULL DEFAULT 0,
    child_count   INTEGER NOT NULL DEFAULT 0,
    open_children INTEGER NOT NULL DEFAULT 0,
    failed_ancestors INTEGER NOT NULL DEFAULT 0,
    own_work    INTEGER NOT NULL DEFAULT 0,
    created_at  TEXT NOT NULL,
    updated_at  TEXT NOT NULL,
    done_when   TEXT,
    commit_message TEXT,
    markers     TEXT NOT NULL DEFAULT '[]',
    done_by     TEXT CHECK (done_by IN ('gate', 'agent', 'person', 'children')),
    verified    INTEGER NOT NULL DEFAULT 0,
    ready INTEGER GENERATED ALWAYS AS (
        status = 'pending' AND open_deps = 0 AND open_children = 0 AND failed_ancestors = 0
        AND (child_count = 0 OR own_work = 1)
    ) VIRTUAL,
    gate_due INTEGER GENERATED ALWAYS AS (
        status = 'pending' AND child_count > 0 AND open_children = 0 AND open_deps = 0
        AND own_work = 0 AND failed_ancestors = 0
    ) VIRTUAL,
    -- The phase a task belongs to: its own, else the one its key begins with (`12-01`).
    whole_phase REAL GENERATED ALWAYS AS (coalesce(phase,
        CASE WHEN key GLOB '[0-9]*-[0-9]*' AND key NOT GLOB '*[^0-9.-]*' THEN CAST(key AS REAL) END)) VIRTUAL,
    -- What people call it, wherever they are.
    name TEXT GENERATED ALWAYS AS (CASE
        WHEN key IS NULL THEN id WHEN spec_shown = 0 THEN key WHEN spec IS NULL THEN id
        ELSE spec || ':' || key END) VIRTUAL
);
INSERT INTO tasks (id, position, key, source_id, parent_id, title, description, status, phase, priority, verify, files, model,
    needs_human, reason, open_deps, child_count, open_children, failed_ancestors, own_work, created_at, updated_at, done_when,
    commit_message, markers, done_by, verified)
SELECT id, position, key, (SELECT s.source_id FROM task_sources s WHERE s.task_id = t.id), parent_id, title, description, status,
    phase, priority, verify, files, model, needs_human, reason, open_deps, child_count, open_children, failed_ancestors,
    own_work, created_at, updated_at, done_when, commit_message, markers, done_by, verified
FROM tasks_before t;
DROP TABLE tasks_before;
-- What Ralph made for a task of a file belongs to the same file.
WITH RECURSIVE made (id, source_id) AS (
    SELECT f.task_id, s.source_id FROM fixes f JOIN task_sources s ON s.task_id = f.original_id
    UNION SELECT i.task_id, s.source_id FROM changed_in i JOIN plan_changes c ON c.id = i.change_id
        JOIN task_sources s ON s.task_id = c.task_id
    UNION SELECT f.task_id, m.source_id FROM fixes f JOIN made m ON f.original_id = m.id
    UNION SELECT i.task_id, m.source_id FROM changed_in i JOIN plan_changes c ON c.id = i.change_id
        JOIN made m ON c.task_id = m.id)
UPDATE tasks SET source_id = (SELECT m.source_id FROM made m WHERE m.id = tasks.id)
WHERE source_id IS NULL AND id IN (SELECT id FROM made);

CREATE UNIQUE INDEX idx_tasks_key ON tasks (key, coalesce(source_id, 0));
CREATE INDEX idx_tasks_name ON tasks (name);
CREATE INDEX idx_tasks_source_id ON tasks (source_id, position);
CREATE INDEX idx_tasks_parent_id ON tasks (parent_id, position);
CREATE INDEX idx_tasks_held ON tasks (position) WHERE status IN ('blocked', 'failed');
CREATE INDEX idx_tasks_ready ON tasks (priority, position) WHERE ready = 1;
CREATE INDEX idx_tasks_gate_due ON tasks (priority, position) WHERE gate_due = 1;
-- Phases are of a spec: two specs that have a phase 1 each have two phases.
CREATE INDEX idx_tasks_whole_phase ON tasks (whole_phase, source_id) WHERE status NOT IN ('done', 'skipped');

CREATE TRIGGER tasks_added AFTER INSERT ON tasks BEGIN
    UPDATE totals SET open_tasks = open_tasks + (new.status IN ('pending', 'in_progress')),
        done_tasks = done_tasks + (new.status = 'done'), failed_tasks = failed_tasks + (new.status = 'failed'),
        blocked_tasks = blocked_tasks + (new.status = 'blocked'),
        skipped_tasks = skipped_tasks + (new.status = 'skipped'), verified_tasks = verified_tasks + new.verified;
    UPDATE tasks SET child_count = child_count + 1,
        open_children = open_children + (new.status NOT IN ('done', 'skipped'))
    WHERE id = new.parent_id;
END;
CREATE TRIGGER tasks_removed AFTER DELETE ON tasks BEGIN
    UPDATE totals SET open_tasks = open_tasks - (old.status IN ('pending', 'in_progress')),
        done_tasks = done_tasks - (old.status = 'done'), failed_tasks = failed_tasks - (old.status = 'failed'),
        blocked_tasks = blocked_tasks - (old.status = 'blocked'),
        skipped_tasks = skipped_tasks - (old.status = 'skipped'), verified_tasks = verified_tasks - old.verified;
    UPDATE tasks SET child_count = child_count - 1,
        open_children = open_children - (old.status NOT IN ('done', 'skipped'))
    WHERE id = old.parent_id;
END;
CREATE TRIGGER tasks_status AFTER UPDATE OF status ON tasks WHEN old.status <> new.status BEGIN
    UPDATE totals SET open_tasks = open_tasks
            + (new.status IN ('pending', 'in_progress')) - (old.status IN ('pending', 'in_progress')),
        done_tasks = done_tasks + (new.status = 'done') - (old.status = 'done'),
        failed_tasks = failed_tasks + (new.status = 'failed') - (old.status = 'failed'),
        blocked_tasks = blocked_tasks + (new.status = 'blocked') - (old.status = 'blocked'),
        skipped_tasks = skipped_tasks + (new.status = 'skipped') - (old.status = 'skipped')
    WHERE old.status NOT IN ('pending', 'in_progress') OR new.status NOT IN ('pending', 'in_progress');
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
CREATE TRIGGER tasks_gate_changed AFTER UPDATE OF verify ON tasks WHEN old.verify IS NOT new.verify BEGIN
    INSERT INTO gate_changes (task_id, gate_before, gate_after) VALUES (new.id, old.verify, new.verify);
END;
CREATE TRIGGER tasks_verified AFTER UPDATE OF verified ON tasks WHEN old.verified <> new.verified BEGIN
    UPDATE totals SET verified_tasks = verified_tasks + new.verified - old.verified;
END;
CREATE TRIGGER tasks_reopened AFTER UPDATE OF status ON tasks WHEN old.status = 'done' AND new.status <> 'done' BEGIN
    UPDATE tasks SET done_by = NULL, verified = 0 WHERE id = new.id;
END;

-- Tasks whose box in their file may have to change, so that one tick in a large file costs no look at all of its tasks.
CREATE TABLE due_boxes (
    task_id   TEXT PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    source_id INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX idx_due_boxes_source_id ON due_boxes (source_id);
CREATE TRIGGER tasks_box_due AFTER UPDATE OF status ON tasks
WHEN new.source_id IS NOT NULL AND old.status <> new.status
    AND (new.status IN ('done', 'skipped') OR old.status IN ('done', 'skipped')) BEGIN
    INSERT INTO due_boxes (task_id, source_id) VALUES (new.id, new.source_id) ON CONFLICT DO NOTHING;
END;
INSERT INTO due_boxes (task_id, source_id)
SELECT t.id, s.source_id FROM task_sources s JOIN tasks t ON t.id = s.task_id
WHERE (t.status = 'done') <> (s.ticked = 1) OR s.ticked = 2;
