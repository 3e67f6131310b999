-- What an attempt said last, and the end of its log, for machines that do not have the log: filled on servers only.
CREATE TABLE attempt_outputs (
    task_id TEXT NOT NULL,
    attempt_number INTEGER NOT NULL,
    -- The machine that has the log.
    host TEXT NOT NULL,
    final_text TEXT NOT NULL,
    tail TEXT NOT NULL,
    PRIMARY KEY (task_id, attempt_number),
    FOREIGN KEY (task_id, attempt_number) REFERENCES iteration_outcomes (task_id, attempt_number) ON DELETE CASCADE
) WITHOUT ROWID;
