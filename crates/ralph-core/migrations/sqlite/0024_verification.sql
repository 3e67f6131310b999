-- What the word done rests on: which gate passed, whether it passed before any work too, whether it is flaky, which
-- protected files were restored for it, and what a review found. As JSON; what queries need has columns of its own.
ALTER TABLE iteration_outcomes ADD COLUMN verification TEXT;
ALTER TABLE tasks ADD COLUMN verification TEXT;
-- The strongest evidence for a done task, null where there is none. `verified` is true for the first two. A parent that is
-- done by its children has the level of the weakest.
ALTER TABLE tasks ADD COLUMN level TEXT CHECK (level IN ('gate', 'project', 'review'));
-- Its gate passed before any work was done, so it shows little.
ALTER TABLE tasks ADD COLUMN already_green INTEGER NOT NULL DEFAULT 0;
ALTER TABLE totals ADD COLUMN already_green_tasks INTEGER NOT NULL DEFAULT 0;
ALTER TABLE totals ADD COLUMN reviewed_tasks INTEGER NOT NULL DEFAULT 0;
-- Earlier versions did not tell the gate of a task from that of the project.
UPDATE tasks SET level = 'gate' WHERE verified = 1;

DROP TRIGGER tasks_reopened;
CREATE TRIGGER tasks_reopened AFTER UPDATE OF status ON tasks WHEN old.status = 'done' AND new.status <> 'done' BEGIN
    UPDATE tasks SET done_by = NULL, verified = 0, level = NULL, already_green = 0, verification = NULL
    WHERE id = new.id;
END;
DROP TRIGGER tasks_verified;
CREATE TRIGGER tasks_verified AFTER UPDATE OF verified, already_green, level ON tasks
WHEN (old.verified, old.already_green, old.level) IS NOT (new.verified, new.already_green, new.level) BEGIN
    UPDATE totals SET verified_tasks = verified_tasks + new.verified - old.verified,
        already_green_tasks = already_green_tasks + new.already_green - old.already_green,
        reviewed_tasks = reviewed_tasks + (new.level IS 'review') - (old.level IS 'review');
END;
CREATE TRIGGER tasks_verified_removed AFTER DELETE ON tasks WHEN old.already_green OR old.level IS 'review' BEGIN
    UPDATE totals SET already_green_tasks = already_green_tasks - old.already_green,
        reviewed_tasks = reviewed_tasks - (old.level IS 'review');
END;
DROP VIEW task_counts;
-- (A cross join is made in this order: claims are few, tasks are many.)
CREATE VIEW task_counts (status, n, verified, already_green, reviewed) AS
WITH claimed (n) AS (
    SELECT count(*) FROM claims c CROSS JOIN tasks t WHERE t.id = c.task_id AND t.status = 'in_progress')
SELECT 'pending', open_tasks - n, 0, 0, 0 FROM totals, claimed
UNION ALL SELECT 'in_progress', n, 0, 0, 0 FROM claimed
UNION ALL SELECT 'done', done_tasks, verified_tasks, already_green_tasks, reviewed_tasks FROM totals
UNION ALL SELECT 'failed', failed_tasks, 0, 0, 0 FROM totals
UNION ALL SELECT 'blocked', blocked_tasks, 0, 0, 0 FROM totals
UNION ALL SELECT 'skipped', skipped_tasks, 0, 0, 0 FROM totals;

-- What gates said before the first attempt on a task.
CREATE TABLE task_baselines (
    task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    command TEXT NOT NULL,
    result  TEXT NOT NULL,
    PRIMARY KEY (task_id, command)
) WITHOUT ROWID;
-- The same of a commit with nothing changed on it, so that no gate is run twice on one.
CREATE TABLE gate_baselines (
    command    TEXT NOT NULL,
    commit_id  TEXT NOT NULL,
    -- The working tree.
    place      TEXT NOT NULL,
    ran_at     TEXT NOT NULL,
    result     TEXT NOT NULL,
    PRIMARY KEY (command, commit_id, place)
) WITHOUT ROWID;
