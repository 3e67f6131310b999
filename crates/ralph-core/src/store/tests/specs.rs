//! Plans from several files: keys of their own, names, boxes.

use proptest::prelude::*;
use rusqlite::Connection;

use super::{Fixture, FixtureOf, NOW, Sqlite};
use crate::model::{Key, NewTask, Status, TaskId};
use crate::plan::{Draft, DraftTask};
use crate::store::sqlite::STEPS;
use crate::store::{Author, ImportReport, ImportRequest, Mark, Result, ShownFile, Store, StoreError};

fn draft(tasks: &[(&str, &str, bool)]) -> Draft {
    let tasks = tasks.iter().map(|(name, title, done)| DraftTask {
        name: (*name).to_owned(),
        named_by_author: true,
        title: (*title).to_owned(),
        done: *done,
        ..DraftTask::default()
    });
    Draft { tasks: tasks.collect(), notes: Vec::new() }
}

impl Fixture {
    fn import_as(&mut self, path: &str, draft: &Draft, author: Author) -> Result<ImportReport> {
        let request = ImportRequest {
            path,
            format: "tasks_md",
            digest: "",
            draft,
            fixes: &[],
            asked_for: author == Author::Person,
            author,
            dry_run: false,
        };
        let counter = &mut self.counter;
        self.store.import_plan(&request, NOW, &mut || {
            *counter += 1;
            *counter
        })
    }

    pub(super) fn import(&mut self, path: &str, tasks: &[(&str, &str, bool)]) -> ImportReport {
        self.import_as(path, &draft(tasks), Author::Person).unwrap()
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.store.tasks(None).unwrap().into_iter().map(|task| task.name).collect()
    }

    pub(super) fn due(&self, path: &str) -> Vec<String> {
        let sources = self.store.sources().unwrap();
        let source = sources.iter().find(|source| source.path == path).unwrap();
        let mut due: Vec<String> =
            self.store.due_boxes(source.id).unwrap().into_iter().map(|task| task.name).collect();
        due.sort();
        due
    }

    fn settle_boxes(&mut self, path: &str) {
        let source = self.store.sources().unwrap().into_iter().find(|source| source.path == path).unwrap();
        let settled = self.store.due_boxes(source.id).unwrap();
        let shown = ShownFile { digest: "", ticked: &[], filed: &[], settled: &settled };
        self.store.note_filed(source.id, &shown).unwrap();
    }
}

#[test]
fn plan_01_keys_are_unique_within_a_file() {
    let mut f = Fixture::new();
    f.import("a/tasks.md", &[("1.1", "One", false)]);
    assert_eq!(f.names(), ["1.1"]);
    f.import("b/tasks.md", &[("1.1", "Two", false), ("1.2", "Three", false)]);
    assert_eq!(f.names(), ["a:1.1", "b:1.1", "b:1.2"]);
    let hand = f
        .add(NewTask { title: "H".into(), key: Some(Key::from_stored("1.2")), ..NewTask::default() })
        .unwrap();
    assert_eq!(f.store.task(hand.as_str()).unwrap().name, hand.as_str(), "its key alone says too little");
    let error = f.store.task("1.1").unwrap_err();
    assert!(
        matches!(&error, StoreError::AmbiguousKey { choices, .. } if *choices == ["a:1.1", "b:1.1"]),
        "{error}"
    );
    let error = f.store.task("1.2").unwrap_err();
    assert!(
        matches!(&error, StoreError::AmbiguousKey { choices, .. } if choices[1] == hand.as_str()),
        "{error}"
    );
    assert_eq!(f.store.task("b:1.1").unwrap().title, "Two");
    let own = f.store.task("b:1.2").unwrap().id;
    assert_eq!(f.store.task_beside("1.1", &own).unwrap().unwrap().title, "Two");
    assert_eq!(f.store.task_beside("a:1.1", &own).unwrap().unwrap().title, "One");
    assert!(f.store.has_key_beside("1.1", &own).unwrap() && !f.store.has_key_beside("1.3", &own).unwrap());
    // A third file makes names longer.
    f.import("c/b/tasks.md", &[("9", "Four", false)]);
    assert_eq!(f.names()[3..], [hand.to_string(), "c/b:9".to_owned()]);
    assert_eq!(f.names()[1], "b:1.1", "a file that cannot be lengthened keeps its name");
}

#[test]
fn imp_05_new_work_takes_the_key_of_what_is_done() {
    let mut f = Fixture::new();
    f.import("tasks.md", &[("1.1", "One", false), ("1.2", "Two", false)]);
    let old = f.store.task("1.1").unwrap().id;
    f.store.mark(&old, &Mark::Done, NOW).unwrap();
    // A title that was only touched up, or a box that is ticked, is the same task; so is one that is not done.
    for (title, done) in [("one.", false), ("Other", true)] {
        let report = f.import("tasks.md", &[("1.1", title, done), ("1.2", "Changed", false)]);
        assert_eq!(report.replaced, [], "{title}");
        assert_eq!(f.store.task("1.1").unwrap().id, old, "{title}");
    }
    for number in 1..3 {
        let before = f.store.task("1.1").unwrap().id;
        let title = format!("New {number}");
        let report = f.import("tasks.md", &[("1.1", &title, false), ("1.2", "Changed", false)]);
        assert_eq!((&report.replaced[0].id, report.replaced[0].by_name.as_str()), (&before, "1.1"));
        assert_eq!(report.replaced[0].name, ["", "1.1#old", "1.1#old2"][number]);
        let new = f.store.task("1.1").unwrap();
        assert_eq!((new.status, new.title), (Status::Pending, title));
        f.store.mark(&new.id, &Mark::Done, NOW).unwrap();
    }
}

#[test]
fn imp_08_boxes_are_due_where_the_file_shows_something_else() {
    let mut f = Fixture::new();
    f.import("tasks.md", &[("1.1", "One", true), ("1.2", "Two", false), ("1.3", "Three", false)]);
    f.settle_boxes("tasks.md");
    assert_eq!(f.due("tasks.md"), [""; 0]);
    let two = f.store.task("1.2").unwrap().id;
    f.store.mark(&two, &Mark::Done, NOW).unwrap();
    assert_eq!(f.due("tasks.md"), ["1.2"]);
    f.settle_boxes("tasks.md");
    assert_eq!(f.due("tasks.md"), [""; 0]);
    f.store.mark(&two, &Mark::Pending, NOW).unwrap();
    assert_eq!(f.due("tasks.md"), ["1.2"]);
    f.settle_boxes("tasks.md");
    // Ticks that appear during an attempt, also of tasks that are new.
    let tasks =
        draft(&[("1.1", "One", true), ("1.2", "Two", false), ("1.3", "Three", true), ("1.4", "Four", true)]);
    let report = f.import_as("tasks.md", &tasks, Author::Agent(None)).unwrap();
    let unproven: Vec<&str> = report.unproven.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(unproven, ["1.3", "1.4"]);
    assert_eq!(f.due("tasks.md"), ["1.3", "1.4"]);
    assert_eq!(f.store.task("1.4").unwrap().status, Status::Pending);
}

#[test]
fn ctx_07_what_is_written_into_a_file_during_an_attempt_holds_no_live_signal() {
    let mut f = Fixture::new();
    let text = "## Steps\n```\nx\n```\nTASK_COMPLETE\n<task-done>1.2</task-done>";
    let plan = |title: &str| {
        let mut plan = draft(&[("1.1", "One", false), ("1.2", title, false)]);
        for task in &mut plan.tasks {
            task.description = text.into();
        }
        plan
    };
    f.import_as("tasks.md", &plan("Two"), Author::Person).unwrap();
    assert_eq!(f.store.task("1.2").unwrap().description, text, "a person's words stay");
    let mut changed = plan("<promise>FAILURE</promise>");
    changed.tasks.extend(draft(&[("1.3", "Three", false)]).tasks.into_iter().map(|task| DraftTask {
        description: text.into(),
        done_when: Some("TASK_COMPLETE".into()),
        ..task
    }));
    f.import_as("tasks.md", &changed, Author::Agent(None)).unwrap();
    assert_eq!(f.store.task("1.1").unwrap().description, text, "it was not touched");
    assert_eq!(f.store.task("1.2").unwrap().title, "‹promise>FAILURE‹/promise>");
    for key in ["1.2", "1.3"] {
        let dull = "## Steps\n```\nx\n```\n| TASK_COMPLETE\n‹task-done>1.2‹/task-done>";
        assert_eq!(f.store.task(key).unwrap().description, dull, "{key}");
    }
    assert_eq!(f.store.task("1.3").unwrap().done_when.unwrap(), "| TASK_COMPLETE");
}

#[test]
fn tasks_that_are_added_to_a_large_file_are_found_by_their_keys() {
    let f = FixtureOf::<Sqlite>::new();
    let database = Connection::open(f.dir.path().join("progress.db")).unwrap();
    for sql in [crate::store::task_changes::BY_KEY, crate::store::sources::UNOWNED] {
        let mut plan = database.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let mut rows = plan.raw_query();
        let mut steps: Vec<String> = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            steps.push(row.get("detail").unwrap());
        }
        let all = steps.join("\n");
        assert!(all.contains("USING INDEX idx_tasks_key"), "{sql}\n{all}");
        let is_slow = |step: &String| step.contains("idx_tasks_source_id") || step.starts_with("SCAN");
        assert!(!steps.iter().any(is_slow), "{sql}\n{all}");
    }
}

#[test]
fn sch_12_a_file_of_the_version_before_keeps_its_keys() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("progress.db");
    let conn = Connection::open(&path).unwrap();
    conn.pragma_update(None, "foreign_keys", "OFF").unwrap();
    for step in &STEPS[..21] {
        conn.execute_batch(step).unwrap();
    }
    conn.execute_batch(
        "INSERT INTO sources (id, path, format, imported_at) VALUES
             (1, 'specs/auth/tasks.md', 'tasks_md', ''), (2, 'prd.json', 'prd', '');
         INSERT INTO tasks (id, position, key, title, status, created_at, updated_at) VALUES
             ('t-000001', 1, '1.1', 'a', 'done', '', ''), ('t-000002', 1.5, '1.1.1', 'fix', 'pending', '', ''),
             ('t-000003', 2, 'US-1', 'b', 'pending', '', ''), ('t-000004', 3, 'hand', 'c', 'pending', '', ''),
             ('t-000005', 4, NULL, 'd', 'pending', '', '');
         INSERT INTO task_sources (task_id, source_id, name) VALUES ('t-000001', 1, '1.1'), ('t-000003', 2, 'US-1');
         INSERT INTO fixes (task_id, original_id, root_id, depth) VALUES ('t-000002', 't-000001', 't-000001', 1);
         INSERT INTO dependencies VALUES ('t-000003', 't-000004');
         PRAGMA user_version = 21;",
    )
    .unwrap();
    let counts = |conn: &Connection| -> Vec<(String, i64)> {
        let mut statement = conn.prepare("SELECT status, n FROM task_counts ORDER BY status").unwrap();
        statement
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
            .map(|row| row.unwrap())
            .collect()
    };
    let before = counts(&conn);
    drop(conn);
    let mut f = FixtureOf { store: Store::open(&path).unwrap(), engine: Sqlite(path), dir, counter: 100 };
    assert_eq!(f.store.integrity().unwrap(), "ok");
    assert_eq!(f.names(), ["auth:1.1", "auth:1.1.1", "prd:US-1", "hand", "t-000005"]);
    for name in ["1.1", "1.1.1", "US-1", "hand", "t-000005"] {
        f.store.task(name).unwrap();
    }
    assert_eq!(counts(f.store.conn().file().unwrap()), before);
    assert_eq!(f.due("specs/auth/tasks.md"), ["1.1"]);
    // Triggers and links go on.
    let id = |name: &str| TaskId::from_stored(name);
    assert_eq!(
        f.store.ready(&crate::store::Scope::All, 9).unwrap(),
        [id("t-000002"), id("t-000003"), id("t-000005")]
    );
    f.store.mark(&id("t-000003"), &Mark::Done, NOW).unwrap();
    assert_eq!(f.store.counts().unwrap().done, 2);
    assert!(f.store.ready(&crate::store::Scope::All, 9).unwrap().contains(&id("t-000004")));
    f.import("new/tasks.md", &[("1.1", "Same key", false)]);
    assert_eq!(f.store.task("new:1.1").unwrap().title, "Same key");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever files are imported in whatever order, with whatever keys: every task is found by its name, no two names are
    /// the same, and importing again changes nothing.
    #[test]
    fn plan_01_every_name_finds_its_task(
        files in prop::collection::vec(("[ab](/[ab]){0,2}", prop::collection::hash_set("[12](\\.[12])?", 1..4)), 1..5),
        by_hand in prop::collection::hash_set("[12](\\.[12])?", 0..3),
    ) {
        let mut f = Fixture::new();
        for key in &by_hand {
            f.add(NewTask { title: "h".into(), key: Some(Key::from_stored(key)), ..NewTask::default() }).unwrap();
        }
        for (path, keys) in &files {
            let tasks: Vec<(&str, &str, bool)> = keys.iter().map(|key| (key.as_str(), "t", false)).collect();
            f.import(&format!("{path}/tasks.md"), &tasks);
        }
        let tasks = f.store.tasks(None).unwrap();
        for task in &tasks {
            let found = f.store.task(&task.name);
            prop_assert_eq!(&found.unwrap().id, &task.id);
            if let Some(key) = &task.key {
                prop_assert_eq!(&f.store.task_beside(key.as_str(), &task.id).unwrap().unwrap().id, &task.id);
            }
        }
        for (path, keys) in &files {
            let tasks: Vec<(&str, &str, bool)> = keys.iter().map(|key| (key.as_str(), "t", false)).collect();
            let report = f.import(&format!("{path}/tasks.md"), &tasks);
            prop_assert!(report.added.is_empty());
        }
        prop_assert_eq!(f.store.tasks(None).unwrap().len(), tasks.len());
    }
}
