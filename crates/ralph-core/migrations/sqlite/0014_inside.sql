-- Hooks and notify commands of runs while they run: what they start acts for the person who wrote them, not for an agent.
CREATE TABLE hook_processes (
    host        TEXT NOT NULL,
    pid         INTEGER NOT NULL,
    pid_started TEXT NOT NULL,
    PRIMARY KEY (host, pid, pid_started)
) WITHOUT ROWID;

-- Every change of a task's gate, whoever made it: a run names those that were made while it was at work.
CREATE TABLE gate_changes (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id     TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    gate_before TEXT,
    gate_after  TEXT
);
CREATE INDEX idx_gate_changes_task_id ON gate_changes (task_id);
CREATE TRIGGER tasks_gate_changed AFTER UPDATE OF verify ON tasks WHEN old.verify IS NOT new.verify BEGIN
    INSERT INTO gate_changes (task_id, gate_before, gate_after) VALUES (new.id, old.verify, new.verify);
END;

-- Whether the file has another gate for the task than the plan, which waits for a person to import the file.
ALTER TABLE task_sources ADD COLUMN gate_waits INTEGER NOT NULL DEFAULT 0;
