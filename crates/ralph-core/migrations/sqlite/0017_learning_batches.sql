-- What one merge command or the end of one run did to learnings: the rows that merges made and those that were archived,
-- so that all of it can be undone at once.
CREATE TABLE learning_batches (
    batch       TEXT NOT NULL,
    learning_id TEXT NOT NULL REFERENCES learnings (id) ON DELETE CASCADE,
    PRIMARY KEY (batch, learning_id)
) WITHOUT ROWID;
CREATE INDEX idx_learning_batches_learning_id ON learning_batches (learning_id);
