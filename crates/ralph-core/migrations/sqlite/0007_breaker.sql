-- The circuit breaker: the row of failures that may open it, and the attempt that probes when it is half open.
CREATE TABLE breaker_streak (
    place   INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    -- A fix task counts as the task it mends.
    root_id TEXT NOT NULL,
    coarse  TEXT,
    -- With this failure the task went to a human.
    gave_up INTEGER NOT NULL
);
CREATE INDEX idx_breaker_streak_task_id ON breaker_streak (task_id);
-- How often the counts of a task were set back by hand or by the breaker: an attempt under way then counts from there.
ALTER TABLE strategy_metrics ADD COLUMN forgiven INTEGER NOT NULL DEFAULT 0;
ALTER TABLE claims ADD COLUMN probe INTEGER NOT NULL DEFAULT 0;
CREATE INDEX idx_claims_probe ON claims (probe) WHERE probe = 1;
