-- What people tell a task's next attempt. A note is queued until an attempt that counts has it in its prompt.
CREATE TABLE notes (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id    TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    text       TEXT NOT NULL,
    created_at TEXT NOT NULL,
    -- The number of the last attempt that had it in its prompt.
    shown_in   INTEGER
);
CREATE INDEX idx_notes_task_id ON notes (task_id);
-- The note for which a person ends the attempt under way.
ALTER TABLE claims ADD COLUMN note_now INTEGER;
-- The model that a person chose for the next attempt.
ALTER TABLE strategy_metrics ADD COLUMN users_model TEXT;

-- What people did to the plan, each with the rows that it changed as they were before and after, as JSON.
CREATE TABLE plan_actions (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    at       TEXT NOT NULL,
    action   TEXT NOT NULL,
    tasks    TEXT NOT NULL,
    -- How many attempts were recorded on each task that it changed.
    attempts TEXT NOT NULL,
    changes  TEXT NOT NULL
);
