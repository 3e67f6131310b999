-- Learnings: what was shown to whom, what came of it, and the index they are found by.
ALTER TABLE learnings ADD COLUMN title TEXT;
-- Of helpful + harmful, how many tasks an attempt judged, and how many of those were to be expected done anyway.
ALTER TABLE learnings ADD COLUMN judged INTEGER NOT NULL DEFAULT 0;
ALTER TABLE learnings ADD COLUMN expected REAL NOT NULL DEFAULT 0;
ALTER TABLE learnings ADD COLUMN restored_at TEXT;
-- It only repeated what stands in superseded_by, and was never in use itself.
ALTER TABLE learnings ADD COLUMN repeats INTEGER NOT NULL DEFAULT 0;
ALTER TABLE claims ADD COLUMN learnings TEXT NOT NULL DEFAULT '[]';

CREATE TABLE learning_uses (
    task_id        TEXT NOT NULL,
    attempt_number INTEGER NOT NULL,
    place          INTEGER NOT NULL,
    learning_id    TEXT NOT NULL REFERENCES learnings (id) ON DELETE CASCADE,
    PRIMARY KEY (task_id, attempt_number, place),
    FOREIGN KEY (task_id, attempt_number)
        REFERENCES iteration_outcomes (task_id, attempt_number) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX idx_learning_uses_learning_id ON learning_uses (learning_id);

-- A task judges a learning once: its latest attempt's word stands.
CREATE TABLE learning_verdicts (
    learning_id TEXT NOT NULL REFERENCES learnings (id) ON DELETE CASCADE,
    task_id     TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    helpful     INTEGER NOT NULL,
    expected    REAL NOT NULL,
    PRIMARY KEY (learning_id, task_id)
) WITHOUT ROWID;
CREATE INDEX idx_learning_verdicts_task_id ON learning_verdicts (task_id);

-- How often attempts succeed, by the number of counted tries before them (3 stands for all from there on).
CREATE TABLE base_rates (
    tries_before INTEGER PRIMARY KEY,
    attempts     INTEGER NOT NULL,
    done         INTEGER NOT NULL
);
INSERT INTO base_rates (tries_before, attempts, done)
    SELECT min(ordinal - 1, 3), count(*), sum(outcome = 'done') FROM iteration_outcomes
    WHERE counted = 1 AND coalesce(error_type, '') <> 'lost' AND model <> 'none' GROUP BY 1;

-- The index follows the table, whoever writes it: triggers note what changed, and the next Ralph to look indexes it.
CREATE TABLE learning_changes (
    learning_id TEXT PRIMARY KEY
) WITHOUT ROWID;
INSERT INTO learning_changes (learning_id) SELECT id FROM learnings;
-- (No OR IGNORE: whatever fires a trigger overrides it.)
CREATE TRIGGER learnings_added AFTER INSERT ON learnings BEGIN
    INSERT INTO learning_changes (learning_id) SELECT new.id
    WHERE NOT EXISTS (SELECT 1 FROM learning_changes WHERE learning_id = new.id);
END;
CREATE TRIGGER learnings_changed
AFTER UPDATE OF id, title, content, relevance_tags, pruned_at, superseded_by ON learnings BEGIN
    INSERT INTO learning_changes (learning_id) SELECT old.id
    WHERE NOT EXISTS (SELECT 1 FROM learning_changes WHERE learning_id = old.id);
    INSERT INTO learning_changes (learning_id) SELECT new.id
    WHERE NOT EXISTS (SELECT 1 FROM learning_changes WHERE learning_id = new.id);
END;
CREATE TRIGGER learnings_removed AFTER DELETE ON learnings BEGIN
    INSERT INTO learning_changes (learning_id) SELECT old.id
    WHERE NOT EXISTS (SELECT 1 FROM learning_changes WHERE learning_id = old.id);
END;

-- Active learnings as the index knows them; terms and tags as they were counted below.
CREATE TABLE learning_docs (
    doc         INTEGER PRIMARY KEY AUTOINCREMENT,
    learning_id TEXT NOT NULL UNIQUE,
    terms       TEXT NOT NULL,
    tags        TEXT NOT NULL
);
-- Ralph cuts the texts into tokens itself; FTS5 must only not cut them again.
CREATE VIRTUAL TABLE learning_index USING fts5 (
    title, content, tags, content = '', contentless_delete = 1,
    tokenize = "unicode61 remove_diacritics 0 categories 'L* N* Co Mn Mc' tokenchars '_'"
);
-- How many active learnings have each token and each tag, kept because FTS5 would count them anew every time.
CREATE TABLE learning_terms (
    term      TEXT PRIMARY KEY,
    documents INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE learning_tags (
    tag       TEXT PRIMARY KEY,
    documents INTEGER NOT NULL
) WITHOUT ROWID;
-- How many are active, and up to which document near-duplicates were looked for.
CREATE TABLE learning_corpus (
    id        INTEGER PRIMARY KEY CHECK (id = 1),
    documents INTEGER NOT NULL,
    merged_up_to INTEGER NOT NULL
);
INSERT INTO learning_corpus (id, documents, merged_up_to) VALUES (1, 0, 0);
