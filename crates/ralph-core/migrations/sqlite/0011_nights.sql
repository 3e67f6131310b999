-- What a run was asked to do by a person at another terminal, and where it prints when nobody looks on.
ALTER TABLE runs ADD COLUMN request TEXT CHECK (request IN ('pause', 'stop'));
ALTER TABLE runs ADD COLUMN output TEXT;

-- When a limit was met: a clock that was set back since must not make it longer.
ALTER TABLE agent_limits ADD COLUMN met_at TEXT;

-- Where the work that a rollback took away is kept in git.
ALTER TABLE iteration_outcomes ADD COLUMN undone_ref TEXT;

-- What was spent each day (UTC), whatever becomes of the tasks it was spent on.
CREATE TABLE spending (
    day      TEXT PRIMARY KEY,
    cost_usd REAL NOT NULL
) WITHOUT ROWID;
INSERT INTO spending (day, cost_usd)
    SELECT substr(started_at, 1, 10), sum(cost_usd) FROM iteration_outcomes
    WHERE cost_usd IS NOT NULL GROUP BY 1;
