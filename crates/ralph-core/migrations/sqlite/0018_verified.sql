-- What a done task rests on: its gate, its agent's word, a person's word, or its children. Null where that was not
-- recorded, and for every task that is not done.
ALTER TABLE tasks ADD COLUMN done_by TEXT CHECK (done_by IN ('gate', 'agent', 'person', 'children'));
-- Whether a gate that passed stands behind it. A parent without a gate of its own is verified when it has done children
-- and all of them are.
ALTER TABLE tasks ADD COLUMN verified INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task_counts ADD COLUMN verified INTEGER NOT NULL DEFAULT 0;

-- Tasks that older versions finished: the gates they recorded say what the tasks rest on.
UPDATE tasks SET done_by = CASE
    WHEN (SELECT outcome = 'done' AND gate_outcome = 'passed' FROM iteration_outcomes
          WHERE task_id = tasks.id ORDER BY attempt_number DESC LIMIT 1) THEN 'gate'
    WHEN (SELECT outcome = 'done' FROM iteration_outcomes
          WHERE task_id = tasks.id ORDER BY attempt_number DESC LIMIT 1) THEN 'agent'
    WHEN verify IS NOT NULL AND id IN (
        SELECT json ->> '$.task_id' FROM run_events
        WHERE type = 'parent_gate' AND json_valid(json) AND json ->> '$.passed') THEN 'gate'
    WHEN EXISTS (SELECT 1 FROM tasks c
                 WHERE c.parent_id = tasks.id AND c.reason = 'its parent was marked done') THEN 'person'
    WHEN child_count > 0 AND verify IS NULL THEN 'children'
    WHEN EXISTS (SELECT 1 FROM iteration_outcomes WHERE task_id = tasks.id)
        OR EXISTS (SELECT 1 FROM task_sources WHERE task_id = tasks.id) THEN 'person'
    END
WHERE status = 'done';
WITH RECURSIVE unverified (id) AS (
    SELECT id FROM tasks t WHERE status = 'done' AND (
        done_by IS NULL OR done_by IN ('agent', 'person')
        OR done_by = 'children'
            AND NOT EXISTS (SELECT 1 FROM tasks c WHERE c.parent_id = t.id AND c.status = 'done'))
    UNION
    SELECT p.id FROM unverified u JOIN tasks c ON c.id = u.id JOIN tasks p ON p.id = c.parent_id
    WHERE p.status = 'done' AND p.done_by = 'children'
)
UPDATE tasks SET verified = 1 WHERE status = 'done' AND id NOT IN (SELECT id FROM unverified);
UPDATE task_counts SET verified = (SELECT count(*) FROM tasks WHERE verified = 1) WHERE status = 'done';

CREATE TRIGGER tasks_verified AFTER UPDATE OF verified ON tasks WHEN old.verified <> new.verified BEGIN
    UPDATE task_counts SET verified = verified + new.verified - old.verified WHERE status = 'done';
END;
CREATE TRIGGER tasks_verified_removed AFTER DELETE ON tasks WHEN old.verified = 1 BEGIN
    UPDATE task_counts SET verified = verified - 1 WHERE status = 'done';
END;
-- Whoever opens a done task again, by whatever path, takes back what it rested on.
CREATE TRIGGER tasks_reopened AFTER UPDATE OF status ON tasks WHEN old.status = 'done' AND new.status <> 'done' BEGIN
    UPDATE tasks SET done_by = NULL, verified = 0 WHERE id = new.id;
END;
