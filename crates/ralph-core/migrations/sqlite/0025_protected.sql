-- Files that attempts may not change: patterns of each task, and those of protected files that are its to change.
ALTER TABLE tasks ADD COLUMN protect TEXT NOT NULL DEFAULT '[]';
ALTER TABLE tasks ADD COLUMN may_change TEXT NOT NULL DEFAULT '[]';
-- The protected files of attempts under way as they were before: content without mode is a link's target, and neither means
-- that nothing was there.
CREATE TABLE protected_files (
    task_id  TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    work_dir TEXT NOT NULL,
    path     TEXT NOT NULL,
    mode     INTEGER,
    content  BLOB,
    PRIMARY KEY (task_id, path)
);
-- Files that attempts on a task made: protected from other tasks, not from its own later attempts.
CREATE TABLE made_files (
    task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    path    TEXT NOT NULL,
    PRIMARY KEY (task_id, path)
) WITHOUT ROWID;
-- Reviews are sessions beside attempts, as plans are.
ALTER TABLE plan_sessions RENAME TO side_sessions;
ALTER TABLE side_sessions ADD COLUMN kind TEXT NOT NULL DEFAULT 'plan' CHECK (kind IN ('plan', 'review'));
ALTER TABLE side_sessions ADD COLUMN task_id TEXT;
CREATE INDEX side_sessions_of_task ON side_sessions (task_id) WHERE task_id IS NOT NULL;
