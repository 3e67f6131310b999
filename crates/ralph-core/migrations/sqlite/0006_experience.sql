-- What attempts taught: about the models of an agent, about the tasks of a difficulty, about trying again.
CREATE TABLE model_beliefs (
    agent        TEXT NOT NULL,
    model        TEXT NOT NULL,
    ability      REAL NOT NULL,
    variance     REAL NOT NULL,
    tries        INTEGER NOT NULL,
    cost_zeros   INTEGER NOT NULL,
    cost_count   INTEGER NOT NULL,
    cost_mean    REAL NOT NULL,
    cost_squares REAL NOT NULL,
    updated_at   TEXT NOT NULL,
    PRIMARY KEY (agent, model)
) WITHOUT ROWID;
-- 'unknown' stands for all tasks together.
CREATE TABLE difficulty_beliefs (
    difficulty TEXT PRIMARY KEY,
    tasks      TEXT NOT NULL,
    cost_count INTEGER NOT NULL,
    cost_sum   REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE retry_beliefs (
    id        INTEGER PRIMARY KEY CHECK (id = 1),
    successes REAL NOT NULL,
    tries     REAL NOT NULL
);

-- What a failure's fingerprint was taken from: gate, trace or text.
ALTER TABLE iteration_outcomes ADD COLUMN fingerprint_source TEXT;

-- How often each model failed on a task and did it.
CREATE TABLE task_trials (
    task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    model   TEXT NOT NULL,
    failed  INTEGER NOT NULL,
    done    INTEGER NOT NULL,
    PRIMARY KEY (task_id, model)
) WITHOUT ROWID;

-- The tasks that were tried, and the index they are found by when another task is like them.
CREATE TABLE task_docs (
    doc     INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id TEXT NOT NULL UNIQUE REFERENCES tasks (id) ON DELETE CASCADE,
    title   TEXT NOT NULL,
    words   TEXT NOT NULL,
    files   TEXT NOT NULL,
    terms   TEXT NOT NULL
);
-- Whole words as Ralph cuts them, so that nothing cuts them again.
CREATE TABLE task_postings (
    term TEXT NOT NULL,
    doc  INTEGER NOT NULL,
    PRIMARY KEY (term, doc)
) WITHOUT ROWID;
CREATE TABLE task_terms (
    term  TEXT PRIMARY KEY,
    tasks INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE task_corpus (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    tasks INTEGER NOT NULL
);
INSERT INTO task_corpus (id, tasks) VALUES (1, 0);
CREATE TRIGGER task_docs_added AFTER INSERT ON task_docs BEGIN
    INSERT INTO task_postings (term, doc) SELECT value, new.doc FROM json_each(new.terms);
    INSERT INTO task_terms (term, tasks) SELECT value, 1 FROM json_each(new.terms) WHERE true
        ON CONFLICT (term) DO UPDATE SET tasks = tasks + 1;
    UPDATE task_corpus SET tasks = tasks + 1;
END;
CREATE TRIGGER task_docs_removed AFTER DELETE ON task_docs BEGIN
    DELETE FROM task_postings WHERE doc = old.doc AND term IN (SELECT value FROM json_each(old.terms));
    UPDATE task_terms SET tasks = tasks - 1 WHERE term IN (SELECT value FROM json_each(old.terms));
    DELETE FROM task_terms WHERE tasks <= 0 AND term IN (SELECT value FROM json_each(old.terms));
    UPDATE task_corpus SET tasks = tasks - 1;
END;
