//! Old files, new files, files from the future.

use std::path::Path;

use rusqlite::Connection;

use crate::adaptive::Beliefs;
use crate::engine::recall;
use crate::gate::Version;
use crate::memory::recall::{RecallPolicy, RecallQuery};
use crate::model::{Cost, Difficulty, DoneBy, RunId, Status, TaskId, Timestamp};
use crate::store::sql::{Changes, Statements};
use crate::store::sqlite::STEPS;
use crate::store::{Scope, Store, StoreError};

/// A file as an earlier Ralph left it.
fn file_of_version(path: &Path, version: usize, fill: &str) -> Connection {
    let conn = Connection::open(path).unwrap();
    conn.pragma_update(None, "foreign_keys", "OFF").unwrap();
    conn.pragma_update(None, "legacy_alter_table", "ON").unwrap();
    for step in STEPS.iter().take(version) {
        conn.execute_batch(step).unwrap();
    }
    conn.execute_batch(fill).unwrap();
    conn.pragma_update(None, "user_version", version).unwrap();
    conn
}

fn old_file(path: &Path, fill: &str) {
    drop(file_of_version(path, 1, fill));
}

#[test]
fn sch_12_a_version_1_file_opens_and_keeps_every_row() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("progress.db");
    old_file(
        &path,
        "INSERT INTO tasks VALUES
           ('t-000001', NULL, 'parent', 'd1', 'pending', 0, '2024-05-01T10:00:00Z', '2024-05-01 11:00:00', NULL),
           ('t-000002', 't-000001', 'done child', '', 'done', 0, '2024-05-01 10:00:01', '1714561201', NULL),
           ('t-000003', 't-000001', 'claimed', NULL, 'in_progress', 1, '2024-05-01T12:00:02+02:00', NULL, 'w'),
           ('t-000004', NULL, 'blocked', '', 'blocked', 0, '2024-05-01 10:00:03', NULL, NULL),
           ('t-000005', NULL, 'failed', '', 'failed', 0, '2024-05-01 10:00:04', NULL, NULL),
           ('t-000006', 't-000005', 'below failed', '', 'pending', 0, '2024-05-01 10:00:05', NULL, NULL);
         INSERT INTO dependencies VALUES ('t-000003', 't-000004'), ('t-000002', 't-000004'),
           ('t-999999', 't-000003');
         INSERT INTO task_logs VALUES (7, 't-000002', 'hello', '2024-05-01 10:00:00'),
           (8, 't-gone', 'orphan', NULL);",
    );
    let store = Store::open(&path).unwrap();
    let tasks = store.tasks(None).unwrap();
    assert_eq!(tasks.len(), 6);
    let status = |id: &str| store.task(id).unwrap().status;
    assert_eq!(status("t-000003"), Status::Pending);
    assert_eq!(status("t-000004"), Status::Pending);
    assert_eq!(status("t-000002"), Status::Done);
    let second = store.task("t-000002").unwrap();
    assert_eq!(second.created_at, Timestamp::parse("2024-05-01T10:00:01Z").unwrap());
    assert_eq!(second.updated_at, Timestamp::from_secs(1_714_561_201));
    assert_eq!(store.task("t-000003").unwrap().created_at, Timestamp::parse("2024-05-01T10:00:02Z").unwrap());
    // A dependency on a task that is not there holds nobody up; the claimed one is ready again.
    let ready = store.ready(&Scope::All, 9).unwrap();
    assert_eq!(ready.iter().map(|id| id.as_str()).collect::<Vec<_>>(), ["t-000003"]);
    let count = |sql: &str| -> i64 { store.conn().one(sql, []).unwrap() };
    assert_eq!(count("SELECT count(*) FROM dependencies"), 3);
    assert_eq!(count("SELECT count(*) FROM task_logs"), 2);
    assert_eq!(count("PRAGMA user_version"), i64::from(Store::VERSION));
    // SCH-11: the file as it was is kept.
    let copy = Connection::open(dir.path().join("progress.db.v1.bak")).unwrap();
    let rows: i64 = copy.query_row("SELECT count(*) FROM tasks", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 6);
    drop(store);
    assert_eq!(Store::open(&path).unwrap().tasks(None).unwrap().len(), 6);
}

#[test]
fn sch_12_thousands_of_rows_keep_their_shape() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("progress.db");
    old_file(
        &path,
        "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 4999)
         INSERT INTO tasks SELECT printf('t-%06x', i), NULL, 'task ' || i, '', 'pending', 0,
             datetime(1700000000 + i, 'unixepoch'), NULL, NULL FROM n;
         INSERT INTO dependencies SELECT printf('t-%06x', i - 1), printf('t-%06x', i)
             FROM (SELECT rowid - 1 AS i FROM tasks) WHERE i > 0;",
    );
    let store = Store::open(&path).unwrap();
    assert_eq!(store.counts().unwrap().pending, 5000);
    assert_eq!(store.ready(&Scope::All, 10).unwrap().len(), 1);
    assert_eq!(store.task("t-001387").unwrap().depends_on.len(), 1);
}

#[test]
fn sch_13_a_newer_file_is_refused_and_not_touched() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("progress.db");
    drop(Store::create(&path).unwrap());
    let conn = Connection::open(&path).unwrap();
    conn.pragma_update(None, "user_version", 99).unwrap();
    conn.pragma_update(None, "journal_mode", "DELETE").unwrap();
    drop(conn);
    let before = std::fs::read(&path).unwrap();
    let names = || {
        let mut names: Vec<_> =
            std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let files = names();
    let error = Store::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::NewerSchema { found: 99, .. }), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(names(), files);
}

#[test]
fn sch_01_03_the_schema_is_as_the_design_names_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::create(&dir.path().join("progress.db")).unwrap();
    let text = |sql: &str| -> String { store.conn().one(sql, []).unwrap() };
    assert_eq!(text("PRAGMA journal_mode"), "wal");
    assert_eq!(store.integrity().unwrap(), "ok");
    let on: i64 = store.conn().one("PRAGMA foreign_keys", []).unwrap();
    assert_eq!(on, 1);
    for index in [
        "idx_iteration_outcomes_task_id",
        "idx_iteration_outcomes_started_at",
        "idx_iteration_outcomes_model_outcome",
        "idx_failure_reports_task_id",
        "idx_failure_reports_error_category",
        "idx_learnings_task_id",
        "idx_learnings_created_at",
        "idx_learnings_pruned_at",
        "idx_learnings_category",
        "idx_strategy_metrics_stuck_flag",
        "idx_strategy_metrics_consecutive_failures",
    ] {
        let sql = format!("SELECT count(*) || '' FROM sqlite_master WHERE name = '{index}'");
        assert_eq!(text(&sql), "1", "{index}");
    }
}

#[test]
fn a_file_that_is_no_database_is_an_error_that_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("progress.db");
    std::fs::write(&path, "this is no database at all, but long enough to be mistaken for one").unwrap();
    let error = Store::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
}

#[test]
fn two_processes_may_open_an_old_file_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("progress.db");
    old_file(&path, "INSERT INTO tasks (id, title) VALUES ('t-000001', 'x');");
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let path = path.clone();
            std::thread::spawn(move || Store::open(&path).unwrap().tasks(None).unwrap().len())
        })
        .collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), 1);
    }
}

#[test]
fn sch_12_odd_rows_of_an_old_file_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("progress.db");
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch(
        "CREATE TABLE tasks (id TEXT PRIMARY KEY, parent_id TEXT REFERENCES tasks (id), title TEXT, description TEXT,
             status TEXT, priority INTEGER, created_at, updated_at, claimed_by TEXT, extra TEXT);
         CREATE INDEX idx_tasks_status ON tasks (status);
         CREATE TABLE dependencies (blocker_id TEXT REFERENCES tasks (id), blocked_id TEXT);
         CREATE TABLE task_logs (id INTEGER PRIMARY KEY, task_id TEXT, message TEXT, timestamp);
         INSERT INTO tasks (id, title, status, created_at) VALUES
             ('t-00000a', NULL, NULL, 1714561201.5), ('p', 'parent', 'pending', NULL);
         INSERT INTO tasks (id, parent_id, title, status) VALUES ('c', 'p', 'child', 'done');
         INSERT INTO task_logs (task_id) VALUES (NULL);
         PRAGMA user_version = 1;",
    )
    .unwrap();
    drop(conn);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.tasks(None).unwrap().len(), 3);
    let odd = store.task("t-00000a").unwrap();
    assert_eq!((odd.title.as_str(), odd.status), ("", Status::Pending));
    assert_eq!(odd.created_at, Timestamp::from_millis(1_714_561_201_500));
    // A parent whose children were done is done, not silently stuck.
    assert_eq!(store.task("p").unwrap().status, Status::Done);
}

#[test]
fn sch_12_odd_shapes_of_an_old_file_are_opened() {
    let dir = tempfile::tempdir().unwrap();
    let tasks =
        "CREATE TABLE tasks (id TEXT PRIMARY KEY, parent_id TEXT, title TEXT, description TEXT, status TEXT,
        priority INTEGER, created_at TEXT, updated_at TEXT, claimed_by TEXT);
        INSERT INTO tasks (id, parent_id, title, created_at) VALUES ('a', '', 'A', '1714561201000');";
    let logs = "CREATE TABLE task_logs (id TEXT PRIMARY KEY, task_id TEXT, message TEXT, timestamp TEXT);
        INSERT INTO task_logs VALUES ('l-1', 'a', 'hello', NULL);";
    let view = "CREATE VIEW titles AS SELECT title FROM tasks;";
    for (name, sql, version) in [
        ("no other tables", tasks.to_owned(), 1),
        ("text log ids and a view", format!("{tasks} {logs} {view}"), 1),
        ("never numbered", format!("{tasks} {logs}"), 0),
    ] {
        let path = dir.path().join(format!("{name}.db"));
        let conn = Connection::open(&path).unwrap();
        conn.execute_batch(&sql).unwrap();
        conn.pragma_update(None, "user_version", version).unwrap();
        drop(conn);
        let store = Store::open(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
        let task = store.task("a").unwrap();
        assert_eq!((task.parent_id, task.created_at), (None, Timestamp::from_secs(1_714_561_201)), "{name}");
        if sql.contains("VIEW") {
            let title: String = store.conn().one("SELECT title FROM titles", []).unwrap();
            assert_eq!(title, "A");
        }
    }
}

#[test]
fn sch_13_a_newer_version_that_still_waits_in_the_log_is_seen_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("progress.db");
    drop(Store::create(&path).unwrap());
    let writer = Connection::open(&path).unwrap();
    writer.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    writer.pragma_update(None, "user_version", 99).unwrap();
    drop(writer);
    let log = dir.path().join("progress.db-wal");
    let before = (std::fs::read(&path).unwrap(), std::fs::read(&log).unwrap());
    assert!(!before.1.is_empty());
    assert!(matches!(Store::open(&path), Err(StoreError::NewerSchema { found: 99, .. })));
    assert_eq!((std::fs::read(&path).unwrap(), std::fs::read(&log).unwrap()), before);
}

#[test]
fn a_version_3_file_keeps_its_learnings_and_they_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("progress.db");
    let fill = "INSERT INTO tasks (id, title, created_at, updated_at, position)
             VALUES ('t-000001', 'a', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', 1);
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
         INSERT INTO iteration_outcomes (task_id, attempt_number, model, started_at, duration_ms,
                 outcome, ordinal, counted)
             SELECT 't-000001', i, 'm', '2026-01-01T00:00:00Z', 1, iif(i % 3, 'failed', 'done'), i, 1 FROM n;
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
         INSERT INTO learnings (id, category, content, relevance_tags, created_at, helpful)
             SELECT printf('l-%06x', i), 'other', 'about widget' || i || ' and its parser', '[\"Widgets\"]',
                 '2026-01-01T00:00:00Z', 2 FROM n;
         UPDATE learnings SET pruned_at = created_at WHERE id = 'l-000002';";
    drop(file_of_version(&path, 3, fill));

    let store = Store::open(&path).unwrap();
    assert_eq!(store.learning_counts().unwrap().active, 2999);
    let query = RecallQuery { title: "widget77x widget77".into(), ..RecallQuery::default() };
    let now = Timestamp::from_secs(1_770_000_000);
    let found = recall(&store, &query, now, None, &RecallPolicy::default()).unwrap();
    let (_, best) = found.chosen().next().unwrap();
    assert_eq!((best.id.as_str(), best.record.helpful), ("l-00004d", 2));
    let count = |sql: &str| -> i64 { store.conn().one(sql, []).unwrap() };
    assert_eq!(count("SELECT base_rates ->> '$[0][0]' FROM totals"), 1);
    assert_eq!(count("SELECT base_rates ->> '$[3][0]' FROM totals"), 2997);
    assert_eq!(count("SELECT base_rates ->> '$[3][1]' FROM totals"), 999);
    assert_eq!(count("SELECT documents FROM learning_tags WHERE tag = 'widgets'"), 2999);
    assert!(dir.path().join("progress.db.v3.bak").exists());
}

#[test]
fn an_older_file_knows_which_costs_nobody_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("progress.db");
    let fill = "
         INSERT INTO tasks (id, title, created_at, updated_at, position)
             VALUES ('t-000001', 'a', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', 1);
         INSERT INTO runs (id, started_at, settings, host, pid, pid_started, cost_usd)
             VALUES ('r-1', '2026-01-01T00:00:00Z', '{}', 'h', 1, 'x', 0.5);
         INSERT INTO iteration_outcomes (task_id, attempt_number, model, started_at, duration_ms, outcome,
                 error_type, ordinal, counted, run_id, agent, cost_usd)
             VALUES ('t-000001', 1, 'm', '2026-01-01T00:00:00Z', 1, 'failed', NULL, 1, 1, 'r-1', 'x', 0.5),
                    ('t-000001', 2, 'm', '2026-01-01T00:00:00Z', 1, 'failed', NULL, 2, 1, 'r-1', 'x', NULL),
                    ('t-000001', 3, 'm', '2026-01-01T00:00:00Z', 1, 'error', 'spawn', 3, 0, 'r-1', 'x', NULL),
                    ('t-000001', 4, 'm', '2026-01-01T00:00:00Z', 1, 'failed', NULL, 3, 1, 'r-1', NULL, NULL);";
    drop(file_of_version(&path, 11, fill));
    let store = Store::open(&path).unwrap();
    let run = store.run(&RunId::from_stored("r-1")).unwrap().unwrap();
    assert_eq!(run.cost, Cost::new(0.5, 1));
    assert_eq!(run.expires_at, None);
    assert_eq!(store.totals().unwrap().cost, Cost::new(0.5, 1));
}

#[test]
fn sch_11_what_a_killed_migration_left_is_deleted_by_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("progress.db");
    old_file(&path, "");
    let long_ago = std::time::SystemTime::UNIX_EPOCH;
    let partial = |name: &str| {
        let path = dir.path().join(name);
        let file = std::fs::File::create(&path).unwrap();
        file.set_modified(long_ago).unwrap();
        (path, file)
    };
    let (left, _) = partial(".tmpLeft");
    let (in_use, lock) = partial(".tmpInUse");
    lock.lock().unwrap();
    let (other, _) = partial("notes.txt");
    Store::open(&path).unwrap();
    let there: Vec<bool> = [left, in_use, other].map(|path| path.exists()).to_vec();
    assert_eq!(there, [false, true, true]);
}

#[test]
fn an_older_file_shows_what_its_recorded_gates_verified() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("progress.db");
    let fill = "INSERT INTO sources (id, path, format, imported_at)
         VALUES (1, 'tasks.md', 'tasks_md', '2026-01-01T00:00:00Z');";
    let conn = file_of_version(&path, 17, fill);
    let mut place = 0;
    let mut add = |key: &str,
                   status: &str,
                   parent: Option<&str>,
                   verify: Option<&str>,
                   reason: Option<&str>| {
        place += 1;
        let parent = parent.map(|parent| format!("t-{parent}"));
        conn.execute(
            "INSERT INTO tasks (id, key, title, status, parent_id, verify, reason, created_at, updated_at, position)
             VALUES ('t-' || ?1, ?1, 'x', ?2, ?3, ?4, ?5, '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', ?6)",
            rusqlite::params![key, status, parent, verify, reason, place],
        )
        .unwrap();
    };
    add("gated", "done", None, Some("true"), None);
    add("word", "done", None, None, None);
    add("person", "done", None, Some("true"), None);
    add("ticked", "done", None, None, None);
    add("unknown", "done", None, None, None);
    add("open", "pending", None, Some("true"), None);
    add("both", "done", None, None, None);
    add("both.1", "done", Some("both"), None, None);
    add("both.2", "skipped", Some("both"), None, None);
    add("mixed", "done", None, None, None);
    add("mixed.1", "done", Some("mixed"), None, None);
    add("mixed.2", "done", Some("mixed"), None, None);
    add("own", "done", None, Some("true"), None);
    add("own.1", "done", Some("own"), None, None);
    add("ended", "done", None, None, None);
    add("ended.1", "skipped", Some("ended"), None, Some("its parent was marked done"));
    for (key, number, outcome, gate) in [
        ("gated", 1, "failed", Some("failed")),
        ("gated", 2, "done", Some("passed")),
        ("word", 1, "done", None),
        ("person", 1, "failed", Some("failed")),
        ("open", 1, "done", Some("passed")),
        ("both.1", 1, "done", Some("passed")),
        ("mixed.1", 1, "done", Some("passed")),
        ("mixed.2", 1, "done", None),
        ("own.1", 1, "done", None),
    ] {
        conn.execute(
            "INSERT INTO iteration_outcomes (task_id, attempt_number, model, started_at, duration_ms, outcome,
                 ordinal, counted, gate_outcome)
             VALUES ('t-' || ?1, ?2, 'm', '2026-01-01T00:00:00Z', 1, ?3, ?2, 1, ?4)",
            rusqlite::params![key, number, outcome, gate],
        )
        .unwrap();
    }
    conn.execute_batch(
        "INSERT INTO task_sources (task_id, source_id, name, ticked) VALUES ('t-ticked', 1, 'ticked', 1);
         INSERT INTO run_events (run_id, seq, at, type, json) VALUES
             ('r-1', 1, '2026-01-01T00:00:00Z', 'parent_gate', 'no json'),
             ('r-1', 2, '2026-01-01T00:00:00Z', 'parent_gate', '{\"task_id\":\"t-own\",\"passed\":true}');",
    )
    .unwrap();
    drop(conn);
    let store = Store::open(&path).unwrap();
    for (key, verified, by) in [
        ("gated", true, Some(DoneBy::Gate)),
        ("word", false, Some(DoneBy::Agent)),
        ("person", false, Some(DoneBy::Person)),
        ("ticked", false, Some(DoneBy::Person)),
        ("unknown", false, None),
        ("open", false, None),
        ("both", true, Some(DoneBy::Children)),
        ("both.1", true, Some(DoneBy::Gate)),
        ("both.2", false, None),
        ("mixed", false, Some(DoneBy::Children)),
        ("own", true, Some(DoneBy::Gate)),
        ("own.1", false, Some(DoneBy::Agent)),
        ("ended", false, Some(DoneBy::Person)),
    ] {
        let task = store.task(key).unwrap();
        assert_eq!((task.verified, task.done_by), (verified, by), "{key}");
    }
    let counts = store.counts().unwrap();
    // gated, both, both.1, mixed.1 and own.
    assert_eq!((counts.done, counts.verified), (13, 5));
}

#[test]
fn a_version_20_file_keeps_its_counters_events_and_beliefs() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("progress.db");
    let shares = "[1,2,3,4,5,6,7,8,9,8,7,6,5,4,3,2,1]";
    let fill = format!(
        "INSERT INTO tasks (id, title, status, created_at, updated_at, position, verified) VALUES
             ('t-1', 'a', 'done', '', '', 1, 1), ('t-2', 'b', 'pending', '', '', 2, 0),
             ('t-3', 'c', 'blocked', '', '', 3, 0), ('t-4', 'd', 'pending', '', '', 4, 0);
         INSERT INTO claims (task_id, run_id, worker, host, pid, pid_started, token, claimed_at, heartbeat_at,
                 expires_at, purpose) VALUES ('t-4', 'r-b', 'w', 'h', 1, 'x', 'k', '', '', '', 'attempt');
         INSERT INTO runs (id, started_at, settings, host, pid, pid_started) VALUES
             ('r-b', '2026-01-01T00:00:00Z', '', 'h', 1, 'x'), ('r-a', '2026-01-02T00:00:00Z', '', 'h', 1, 'x');
         INSERT INTO run_events (run_id, seq, at, type, json) VALUES ('r-a', 1, '', 'a1', ''),
             ('r-a', 7, '', 'a7', ''), ('r-b', 2, '', 'b2', ''), ('r-gone', 3, '', 'gone', '');
         INSERT INTO base_rates VALUES (1, 5, 4);
         INSERT INTO model_beliefs VALUES ('x', 'm', 1.25, 0.5, 7, 1, 2, -0.5, 3.0, ''), ('y', 'm', 2, 1, 9, 0, 0, 0, 0, '');
         INSERT INTO difficulty_beliefs VALUES ('easy', '{shares}', 4, 2.5), ('hard', '', 1, 1.0);
         INSERT INTO retry_beliefs VALUES (1, 6, 44);
         INSERT INTO strategy_metrics (task_id, total_attempts, suggested_model) VALUES ('t-1', 3, 'm');
         INSERT INTO task_trials VALUES ('t-1', 'l', 2, 0), ('t-1', 'm', 0, 1);
         INSERT INTO task_docs (task_id, title, words, files, terms) VALUES
             ('t-1', 'leap parser', 'leap parser', '[\"a.rs\"]', '[\"leap\",\"parser\"]'),
             ('t-2', 'parser', 'parser', '[]', '[\"parser\"]');
         INSERT INTO breaker_streak (task_id, root_id, coarse, gave_up) VALUES ('t-3', 't-3', 'c', 1);"
    );
    drop(file_of_version(&path, 20, &fill));
    let store = Store::open(&path).unwrap();
    let counts = store.counts().unwrap();
    assert_eq!((counts.pending, counts.in_progress, counts.done, counts.verified), (1, 1, 1, 1));
    assert_eq!((counts.blocked, counts.total), (1, 4));
    let kinds = |run: &str, after| -> Vec<String> {
        let events = store.some_events(&RunId::from_stored(run), after, 9).unwrap();
        events.into_iter().map(|event| event.kind).collect()
    };
    assert_eq!((kinds("r-a", 0), kinds("r-a", 1)), (vec!["a1".into(), "a7".into()], vec!["a7".into()]));
    assert_eq!((kinds("r-b", 0), kinds("r-gone", 0)), (vec!["b2".into()], vec!["gone".into()]));
    let beliefs = store.beliefs("x").unwrap();
    let model = &beliefs.models["m"];
    assert_eq!((beliefs.models.len(), model.tries, model.cost_zeros, model.cost_count), (1, 7, 1, 2));
    assert_eq!((model.ability, model.cost_mean, model.cost_squares), (1.25, -0.5, 3.0));
    assert_eq!((beliefs.retry_successes, beliefs.retry_tries), (6.0, 44.0));
    let easy = beliefs.bucket(Some(Difficulty::Easy)).unwrap();
    assert_eq!((easy.tasks.len(), easy.tasks[8], easy.cost_count, easy.cost_sum), (17, 9.0, 4, 2.5));
    assert_eq!(beliefs.bucket(Some(Difficulty::Hard)), Beliefs::default().bucket(Some(Difficulty::Hard)));
    let terms = ["leap", "parser", "none"].map(String::from);
    let frequencies = store.frequencies(&terms).unwrap();
    assert_eq!((frequencies.tasks, frequencies.with["parser"], frequencies.with.len()), (2, 2, 2));
    let lookup = [("leap".to_owned(), 1.0)];
    let tried = store.tried(&lookup, &TaskId::from_stored("t-2"), 9).unwrap();
    assert_eq!((tried.len(), tried[0].files.len()), (1, 1));
    let neighbour = &tried[0].neighbour;
    assert_eq!((neighbour.failed.as_slice(), neighbour.done.as_deref()), (&["l".to_owned()][..], Some("m")));
    assert_eq!((store.breaker().unwrap().tasks, store.integrity().unwrap().as_str()), (1, "ok"));
    let count = |store: &Store, sql: &str| -> i64 { store.conn().one(sql, []).unwrap() };
    assert_eq!(
        count(&store, "SELECT base_rates ->> '$[1][0]' * 10 + (base_rates ->> '$[1][1]') FROM totals"),
        54
    );
    // What hangs on a task goes with it.
    store.conn().changed("DELETE FROM tasks WHERE id = 't-1'", []).unwrap();
    assert_eq!(store.frequencies(&terms).unwrap().with.len(), 1);
    assert_eq!(count(&store, "SELECT tried_tasks + done_tasks + verified_tasks FROM totals"), 1);
}

#[test]
fn protected_files_of_an_attempt_that_version_26_was_killed_in_are_put_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("progress.db");
    let fill = "INSERT INTO tasks (id, title, status, created_at, updated_at, position)
             VALUES ('t-1', 'a', 'pending', '', '', 1);
         INSERT INTO protected_files (task_id, work_dir, path, mode, content) VALUES
             ('t-1', '/w', 'tests/a', 420, x'6f6e65'), ('t-1', '/w', 'tests/b', 420, x'6f6e65'),
             ('t-1', '/w', 'link', NULL, x'78'), ('t-1', '/w', 'gone', NULL, NULL);";
    drop(file_of_version(&path, 26, fill));
    let store = Store::open(&path).unwrap();
    let kept = store.orphaned_protected().unwrap();
    let file = || Version::File { bytes: "one".into(), mode: 0o644 };
    let versions = [
        ("tests/a", file()),
        ("tests/b", file()),
        ("link", Version::Link("x".into())),
        ("gone", Version::Gone),
    ];
    let expected = versions.map(|(path, version)| (path.to_owned(), version));
    assert_eq!((kept.len(), kept[0].work_dir.as_str()), (1, "/w"));
    assert_eq!(kept[0].files.0, expected.into_iter().collect());
}
