-- An attempt writes about half as many pages: what nearly every attempt changes is in one row, and tables that only grow
-- are appended to.

-- Counters of tasks, by status. A task in progress counts as open, so that a claim changes no counter.
ALTER TABLE totals ADD COLUMN open_tasks INTEGER NOT NULL DEFAULT 0;
ALTER TABLE totals ADD COLUMN done_tasks INTEGER NOT NULL DEFAULT 0;
ALTER TABLE totals ADD COLUMN failed_tasks INTEGER NOT NULL DEFAULT 0;
ALTER TABLE totals ADD COLUMN blocked_tasks INTEGER NOT NULL DEFAULT 0;
ALTER TABLE totals ADD COLUMN skipped_tasks INTEGER NOT NULL DEFAULT 0;
ALTER TABLE totals ADD COLUMN verified_tasks INTEGER NOT NULL DEFAULT 0;
-- Rows of task_docs.
ALTER TABLE totals ADD COLUMN tried_tasks INTEGER NOT NULL DEFAULT 0;
-- How often attempts succeed, by the number of counted attempts before them (the last entry: all from there on).
ALTER TABLE totals ADD COLUMN base_rates TEXT NOT NULL DEFAULT '[]';
-- What attempts taught about models and tasks.
ALTER TABLE totals ADD COLUMN beliefs TEXT NOT NULL DEFAULT '{}';
UPDATE totals SET
    open_tasks = (SELECT count(*) FROM tasks WHERE status IN ('pending', 'in_progress')),
    done_tasks = (SELECT count(*) FROM tasks WHERE status = 'done'),
    failed_tasks = (SELECT count(*) FROM tasks WHERE status = 'failed'),
    blocked_tasks = (SELECT count(*) FROM tasks WHERE status = 'blocked'),
    skipped_tasks = (SELECT count(*) FROM tasks WHERE status = 'skipped'),
    verified_tasks = (SELECT count(*) FROM tasks WHERE verified = 1),
    tried_tasks = (SELECT count(*) FROM task_docs),
    base_rates = (SELECT json_group_array(json_array(attempts, done)) FROM (
        SELECT coalesce(r.attempts, 0) AS attempts, coalesce(r.done, 0) AS done
        FROM (VALUES (0), (1), (2), (3)) AS kind LEFT JOIN base_rates r ON r.tries_before = kind.column1
        ORDER BY kind.column1)),
    beliefs = json_object(
        'agents', json((SELECT json_group_object(agent, json(models)) FROM (
            SELECT agent, json_group_object(model, json_object(
                'ability', ability, 'variance', variance, 'tries', tries, 'cost_zeros', cost_zeros,
                'cost_count', cost_count, 'cost_mean', cost_mean, 'cost_squares', cost_squares)) AS models
            FROM model_beliefs GROUP BY agent))),
        'difficulties', json((SELECT json_group_object(difficulty, json_object(
                'tasks', json(tasks), 'cost_count', cost_count, 'cost_sum', cost_sum))
            FROM difficulty_beliefs WHERE json_valid(tasks))),
        'retries', json((SELECT json_array(successes, tries) FROM retry_beliefs)));
DROP TABLE base_rates;
DROP TABLE model_beliefs;
DROP TABLE difficulty_beliefs;
DROP TABLE retry_beliefs;

DROP TRIGGER tasks_added;
DROP TRIGGER tasks_removed;
DROP TRIGGER tasks_status;
DROP TRIGGER tasks_verified;
DROP TRIGGER tasks_verified_removed;
DROP TABLE task_counts;
-- (A cross join is made in this order: claims are few, tasks are many.)
CREATE VIEW task_counts (status, n, verified) AS
WITH claimed (n) AS (
    SELECT count(*) FROM claims c CROSS JOIN tasks t WHERE t.id = c.task_id AND t.status = 'in_progress')
SELECT 'pending', open_tasks - n, 0 FROM totals, claimed
UNION ALL SELECT 'in_progress', n, 0 FROM claimed
UNION ALL SELECT 'done', done_tasks, verified_tasks FROM totals
UNION ALL SELECT 'failed', failed_tasks, 0 FROM totals
UNION ALL SELECT 'blocked', blocked_tasks, 0 FROM totals
UNION ALL SELECT 'skipped', skipped_tasks, 0 FROM totals;
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
CREATE TRIGGER tasks_verified AFTER UPDATE OF verified ON tasks WHEN old.verified <> new.verified BEGIN
    UPDATE totals SET verified_tasks = verified_tasks + new.verified - old.verified;
END;

-- Events are appended: the number of their run (0 where it is not known) times 2^32, and their own number in the run.
ALTER TABLE runs ADD COLUMN number INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET number = n.number
FROM (SELECT id, row_number() OVER (ORDER BY started_at, rowid) AS number FROM runs) AS n WHERE n.id = runs.id;
CREATE TABLE run_events_new (
    id     INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL,
    seq    INTEGER NOT NULL,
    at     TEXT NOT NULL,
    type   TEXT NOT NULL,
    json   TEXT NOT NULL
);
INSERT INTO run_events_new (id, run_id, seq, at, type, json)
SELECT r.number * 4294967296 + e.seq, e.run_id, e.seq, e.at, e.type, e.json
FROM run_events e JOIN runs r ON r.id = e.run_id ORDER BY 1;
INSERT INTO run_events_new (id, run_id, seq, at, type, json)
SELECT row_number() OVER (ORDER BY run_id, seq), run_id, seq, at, type, json
FROM run_events WHERE run_id NOT IN (SELECT id FROM runs);
DROP TABLE run_events;
ALTER TABLE run_events_new RENAME TO run_events;

-- The tasks that were tried: each is found by its row in strategy_metrics, which also says how often each model failed on
-- it and did it, as a list of [model, failed, done].
ALTER TABLE strategy_metrics ADD COLUMN trials TEXT NOT NULL DEFAULT '[]';
ALTER TABLE strategy_metrics ADD COLUMN doc INTEGER;
INSERT INTO strategy_metrics (task_id)
SELECT task_id FROM task_trials UNION SELECT task_id FROM task_docs EXCEPT SELECT task_id FROM strategy_metrics;
UPDATE strategy_metrics SET
    trials = (SELECT json_group_array(json_array(model, failed, done)) FROM task_trials t
              WHERE t.task_id = strategy_metrics.task_id),
    doc = (SELECT d.doc FROM task_docs d WHERE d.task_id = strategy_metrics.task_id);
DROP TABLE task_trials;
CREATE TABLE task_docs_new (
    doc     INTEGER PRIMARY KEY,
    task_id TEXT NOT NULL,
    title   TEXT NOT NULL,
    words   TEXT NOT NULL,
    files   TEXT NOT NULL,
    terms   TEXT NOT NULL
);
INSERT INTO task_docs_new (doc, task_id, title, words, files, terms)
SELECT doc, task_id, title, words, files, terms FROM task_docs;
DROP TABLE task_docs;
ALTER TABLE task_docs_new RENAME TO task_docs;
-- How many tasks have a term is in its row for document 0.
ALTER TABLE task_postings ADD COLUMN tasks INTEGER;
INSERT INTO task_postings (term, doc, tasks) SELECT term, 0, tasks FROM task_terms;
DROP TABLE task_terms;
DROP TABLE task_corpus;
CREATE TRIGGER strategy_metrics_removed AFTER DELETE ON strategy_metrics BEGIN
    DELETE FROM task_docs WHERE doc = old.doc;
END;
CREATE TRIGGER task_docs_added AFTER INSERT ON task_docs BEGIN
    INSERT INTO task_postings (term, doc) SELECT value, new.doc FROM json_each(new.terms);
    INSERT INTO task_postings (term, doc, tasks) SELECT value, 0, 1 FROM json_each(new.terms) WHERE true
        ON CONFLICT (term, doc) DO UPDATE SET tasks = tasks + 1;
    UPDATE totals SET tried_tasks = tried_tasks + 1;
END;
CREATE TRIGGER task_docs_removed AFTER DELETE ON task_docs BEGIN
    DELETE FROM task_postings WHERE doc = old.doc AND term IN (SELECT value FROM json_each(old.terms));
    UPDATE task_postings SET tasks = tasks - 1 WHERE doc = 0 AND term IN (SELECT value FROM json_each(old.terms));
    DELETE FROM task_postings
    WHERE doc = 0 AND tasks <= 0 AND term IN (SELECT value FROM json_each(old.terms));
    UPDATE totals SET tried_tasks = tried_tasks - 1;
END;

-- The breaker's streak and the failures that AGENTS.md shows are a few hundred rows at most.
CREATE TABLE breaker_streak_new (
    place   INTEGER PRIMARY KEY,
    task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    -- A fix task counts as the task it fixes.
    root_id TEXT NOT NULL,
    coarse  TEXT,
    -- With this failure the task was blocked.
    gave_up INTEGER NOT NULL
);
INSERT INTO breaker_streak_new (place, task_id, root_id, coarse, gave_up)
SELECT place, task_id, root_id, coarse, gave_up FROM breaker_streak;
DROP TABLE breaker_streak;
ALTER TABLE breaker_streak_new RENAME TO breaker_streak;
DROP INDEX idx_failure_entries_at;
