-- What a plan's author says of a task beside its title.
ALTER TABLE tasks ADD COLUMN done_when TEXT;
ALTER TABLE tasks ADD COLUMN commit_message TEXT;
ALTER TABLE tasks ADD COLUMN markers TEXT NOT NULL DEFAULT '[]';

-- Files that tasks came from and that are kept true.
CREATE TABLE sources (
    id          INTEGER PRIMARY KEY,
    -- Relative to the project where the file is in it.
    path        TEXT NOT NULL UNIQUE,
    format      TEXT NOT NULL,
    imported_at TEXT NOT NULL,
    -- What the file looked like when Ralph last read or wrote it.
    digest      TEXT
);
CREATE TABLE task_sources (
    task_id   TEXT PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    source_id INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
    -- What the file calls it.
    name      TEXT NOT NULL,
    -- Whether its box was ticked when the file was last read or written.
    ticked    INTEGER NOT NULL DEFAULT 0,
    -- What the file said of it when it was last read, in short, and whom it said it waits for, as JSON.
    digest    TEXT NOT NULL DEFAULT '',
    after     TEXT NOT NULL DEFAULT '[]',
    UNIQUE (source_id, name)
) WITHOUT ROWID;

-- Tasks that a person deleted from the plan and whose file still has them: they come back only when it is imported anew.
CREATE TABLE source_gone (
    source_id INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
    name      TEXT NOT NULL,
    PRIMARY KEY (source_id, name)
) WITHOUT ROWID;

-- Fix tasks and what they are to mend.
CREATE TABLE fixes (
    task_id     TEXT PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    -- Gone where the task it mends was deleted.
    original_id TEXT REFERENCES tasks (id) ON DELETE SET NULL,
    root_id     TEXT REFERENCES tasks (id) ON DELETE SET NULL,
    depth       INTEGER NOT NULL,
    -- The failed attempt of the original, and what it was recognised by.
    attempt_number INTEGER,
    coarse      TEXT
) WITHOUT ROWID;
CREATE INDEX idx_fixes_original_id ON fixes (original_id);
CREATE INDEX idx_fixes_root_id ON fixes (root_id);
-- Every fix task that a task ever had, also of those that were deleted: what the limits count.
CREATE TABLE fix_attempts (
    original_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    ordinal     INTEGER NOT NULL,
    key         TEXT NOT NULL,
    root_id     TEXT NOT NULL,
    error       TEXT NOT NULL,
    attempted   TEXT,
    category    TEXT,
    PRIMARY KEY (original_id, ordinal)
) WITHOUT ROWID;
CREATE INDEX idx_fix_attempts_root_id ON fix_attempts (root_id);
-- How the recovery of a task ended without success, and the last error of the one that failed.
CREATE TABLE fix_ends (
    task_id    TEXT PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    end        TEXT,
    last_error TEXT
) WITHOUT ROWID;

-- Changes of the plan that agents asked for.
CREATE TABLE plan_changes (
    id             INTEGER PRIMARY KEY,
    task_id        TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    attempt_number INTEGER NOT NULL,
    run_id         TEXT,
    kind           TEXT,
    reasoning      TEXT NOT NULL,
    -- Why it was refused; none where it was made.
    refusal        TEXT,
    -- Keys of the tasks it added, as JSON.
    tasks          TEXT NOT NULL DEFAULT '[]',
    at             TEXT NOT NULL
);
CREATE INDEX idx_plan_changes_task_id ON plan_changes (task_id);
-- Tasks that came from such a change, and how many changes lie between them and their author's plan.
CREATE TABLE changed_in (
    task_id   TEXT PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    change_id INTEGER NOT NULL REFERENCES plan_changes (id) ON DELETE CASCADE,
    depth     INTEGER NOT NULL
) WITHOUT ROWID;
