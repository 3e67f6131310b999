-- The protected files of attempts under way: a row for each attempt says what was where, and each content is there once, for
-- all attempts of a run. `files` is a list of [path, mode, hash]: a hash without mode is of a link's target, and no hash
-- means that nothing was there.
CREATE TABLE kept_files (
    task_id  TEXT NOT NULL PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    work_dir TEXT NOT NULL,
    files    TEXT NOT NULL
);
CREATE TABLE kept_contents (
    hash    TEXT NOT NULL PRIMARY KEY,
    content BLOB NOT NULL
);
INSERT INTO kept_contents (hash, content)
    SELECT task_id || ' ' || path, content FROM protected_files WHERE content IS NOT NULL;
INSERT INTO kept_files (task_id, work_dir, files)
    SELECT task_id, min(work_dir), json_group_array(json_array(path, mode, iif(content IS NULL, NULL, task_id || ' ' || path)))
    FROM protected_files GROUP BY task_id;
DROP TABLE protected_files;
