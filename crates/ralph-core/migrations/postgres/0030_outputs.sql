-- What an attempt said last, and the end of its log, for machines that do not have the log.
CREATE TABLE attempt_outputs (
    task_id TEXT COLLATE "C" NOT NULL,
    attempt_number BIGINT NOT NULL,
    -- The machine that has the log.
    host TEXT COLLATE "C" NOT NULL,
    final_text TEXT COLLATE "C" NOT NULL,
    tail TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (task_id, attempt_number),
    FOREIGN KEY (task_id, attempt_number) REFERENCES iteration_outcomes (task_id, attempt_number) ON DELETE CASCADE DEFERRABLE
);
CREATE TRIGGER noted AFTER INSERT OR UPDATE OR DELETE ON attempt_outputs FOR EACH ROW
    WHEN (current_setting('ralph.noting', true) = 'on') EXECUTE FUNCTION note_row();
