-- Until when a run that cannot be seen from here (it is on another host) may be taken to live.
ALTER TABLE runs ADD COLUMN expires_at TEXT;

-- Tries that did not tell what they cost: a sum without them is not the whole. Where no agent was, or none could be
-- started, nothing was spent.
ALTER TABLE runs ADD COLUMN cost_unknown INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET cost_unknown = (
    SELECT count(*) FROM iteration_outcomes
    WHERE run_id = runs.id AND cost_usd IS NULL AND agent IS NOT NULL AND error_type IS NOT 'spawn');
ALTER TABLE totals ADD COLUMN cost_unknown INTEGER NOT NULL DEFAULT 0;
UPDATE totals SET cost_unknown = (
    SELECT count(*) FROM iteration_outcomes WHERE cost_usd IS NULL AND agent IS NOT NULL AND error_type IS NOT 'spawn');
DROP TRIGGER outcomes_added;
DROP TRIGGER outcomes_removed;
CREATE TRIGGER outcomes_added AFTER INSERT ON iteration_outcomes BEGIN
    UPDATE totals SET attempts = attempts + new.counted, cost_usd = cost_usd + coalesce(new.cost_usd, 0),
        cost_unknown = cost_unknown + (new.cost_usd IS NULL AND new.agent IS NOT NULL AND new.error_type IS NOT 'spawn');
END;
CREATE TRIGGER outcomes_removed AFTER DELETE ON iteration_outcomes BEGIN
    UPDATE totals SET attempts = attempts - old.counted, cost_usd = cost_usd - coalesce(old.cost_usd, 0),
        cost_unknown = cost_unknown - (old.cost_usd IS NULL AND old.agent IS NOT NULL AND old.error_type IS NOT 'spawn');
END;

-- What attempts on a task changed and nobody committed, as they left it: nobody's but the task's while it looks so.
CREATE TABLE left_work (
    task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    path    BLOB NOT NULL,
    state   TEXT NOT NULL,
    PRIMARY KEY (task_id, path)
) WITHOUT ROWID;
-- The tree before the first attempt of a run on a task, while one is under way: what a killed run left is told by it.
CREATE TABLE first_looks (
    task_id TEXT PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    look    TEXT NOT NULL,
    branch  TEXT
) WITHOUT ROWID;
