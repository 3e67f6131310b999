//! What an attempt leaves behind.

use rusqlite::params;

use super::{Fixture, NOW, event, outcome};
use crate::model::{
    ErrorType, FailureMark, GateOutcome, MarkSource, NewLearning, Outcome, ReportRow, Status, TaskMetrics,
};
use crate::store::sql::{Changes, Statements};
use crate::store::{Children, StoreError, TaskNext};

fn report() -> ReportRow {
    ReportRow {
        what_was_tried: "this".into(),
        why_it_failed: "that".into(),
        error_category: Some("logic_error".into()),
        relevant_files: vec!["a.rs".into(), "b.rs".into()],
        stack_trace_snippet: None,
        retry_suggestion: Some("other".into()),
        excerpt: None,
        auto: false,
    }
}

#[test]
fn everything_of_an_attempt_reads_back() {
    let mut f = Fixture::new();
    f.start_run("r-1");
    let id = f.task("a", &[]);
    let (claimed, token) = f.claim().unwrap();
    let mut capture = outcome(&claimed, &token, Outcome::Failed, TaskNext::Pending);
    let attempt = &mut capture.attempt;
    attempt.error_type = Some(ErrorType::TestFailure);
    (attempt.cost_usd, attempt.cost_estimated) = (Some(0.25), true);
    (attempt.tokens_input, attempt.tokens_output) = (Some(10), Some(5));
    attempt.tokens_cache_read = Some(1);
    attempt.commit_before = Some("a".into());
    attempt.commit_after = Some("b".into());
    attempt.files_changed = Some(vec!["x".into()]);
    attempt.gate = Some(GateOutcome::Failed);
    attempt.gate_output = Some("boom".into());
    attempt.gate_files_changed = vec!["x".into()];
    attempt.denials = vec!["WebFetch".into()];
    attempt.set_mark(FailureMark {
        source: MarkSource::Text,
        coarse: "c".into(),
        fine: "f".into(),
        failing: vec!["t".into()],
    });
    (attempt.summary, attempt.work_dir) = (Some("s".into()), Some("/w".into()));
    let expected = attempt.clone().derive();
    capture.report = Some(report());
    capture.metrics = TaskMetrics { total_attempts: 1, consecutive_failures: 1, ..TaskMetrics::default() };
    capture.learnings = vec![NewLearning {
        title: None,
        category: "pitfall".into(),
        content: "c".into(),
        tags: vec!["t".into()],
    }];
    capture.events = vec![event("r-1", 2)];
    f.capture(&capture).unwrap();

    let attempt = f.store.history(Some(&id)).unwrap().remove(0);
    assert_eq!(attempt, expected);
    assert_eq!(f.store.failures(&id).unwrap()[0].report, Some(report()));
    assert_eq!(f.store.totals().unwrap().attempts, 1);
    assert_eq!(f.store.some_events(&"r-1".into_id(), 0, 9).unwrap().len(), 2);
    let task = f.store.task(id.as_str()).unwrap();
    assert_eq!((task.status, task.attempts, task.consecutive_failures), (Status::Pending, 1, 1));
    let rates = f.store.run_rates(&"r-1".into_id()).unwrap();
    assert_eq!((rates.done, rates.counted, rates.cost.cost_usd), (0, 1, Some(0.25)));
}

trait IntoId {
    fn into_id(self) -> crate::model::RunId;
}

impl IntoId for &str {
    fn into_id(self) -> crate::model::RunId {
        crate::model::RunId::from_stored(self)
    }
}

#[test]
fn cap_01_a_capture_that_fails_in_the_middle_leaves_nothing() {
    let mut f = Fixture::new();
    f.start_run("r-1");
    let id = f.task("a", &[]);
    let (claimed, token) = f.claim().unwrap();
    let mut capture = outcome(&claimed, &token, Outcome::Done, TaskNext::Done);
    capture.report = Some(report());
    // The last thing written, an event, has a number that no column holds: everything before it must go too.
    capture.events = vec![event("r-1", u64::MAX)];
    assert!(f.capture(&capture).is_err());
    assert_eq!(f.status(&id), Status::InProgress);
    assert!(f.store.history(None).unwrap().is_empty());
    assert!(f.store.failures(&id).unwrap().is_empty());
    assert_eq!(f.store.metrics(&id).unwrap(), TaskMetrics::default());
    assert_eq!(f.store.claims().unwrap().len(), 1);
}

#[test]
fn uncounted_tries_run_on_in_the_table_but_not_for_people() {
    let mut f = Fixture::new();
    let id = f.task("a", &[]);
    for counted in [true, false, false, true] {
        let (claimed, token) = f.claim().unwrap();
        let mut capture = outcome(&claimed, &token, Outcome::Error, TaskNext::Pending);
        capture.attempt.counted = counted;
        f.capture(&capture).unwrap();
    }
    let attempts = f.store.history(Some(&id)).unwrap();
    let numbers: Vec<_> = attempts.iter().map(|a| (a.attempt_number, a.attempt)).collect();
    assert_eq!(numbers, [(1, 1), (2, 2), (3, 2), (4, 2)]);
    assert_eq!(f.store.failures(&id).unwrap().len(), 2);
    assert_eq!(f.store.totals().unwrap().attempts, 2);
}

#[test]
fn sch_07_deleting_a_task_that_has_run_keeps_its_learnings() {
    let mut f = Fixture::new();
    let id = f.task("a", &[]);
    let (claimed, token) = f.claim().unwrap();
    let mut capture = outcome(&claimed, &token, Outcome::Failed, TaskNext::Pending);
    capture.report = Some(report());
    capture.learnings = vec![NewLearning {
        title: None,
        category: "other".into(),
        content: "c".into(),
        tags: vec!["t".into()],
    }];
    f.capture(&capture).unwrap();
    f.store.delete_task(&id, Children::Refuse, NOW).unwrap();
    let count = |table: &str| -> i64 {
        let sql = format!("SELECT count(*) FROM {table}");
        f.store.conn().one(&sql, []).unwrap()
    };
    for table in ["tasks", "iteration_outcomes", "failure_reports", "strategy_metrics"] {
        assert_eq!(count(table), 0, "{table}");
    }
    let (n, unlinked): (i64, bool) =
        f.store.conn().one("SELECT count(*), max(task_id) IS NULL FROM learnings", []).unwrap();
    assert_eq!((n, unlinked), (1, true));
    assert_eq!(f.store.totals().unwrap().attempts, 0);
}

#[test]
fn sch_02_08_the_database_itself_keeps_its_rules() {
    let mut f = Fixture::new();
    let id = f.task("a", &[]);
    let insert = "INSERT INTO iteration_outcomes (task_id, attempt_number, model, started_at, duration_ms,
                  outcome, ordinal, counted) VALUES (?1, 1, 'm', 'x', 1, ?2, 1, 1)";
    assert!(f.store.conn().changed(insert, params![id.as_str(), "perhaps"]).is_err());
    f.store.conn().changed(insert, params![id.as_str(), "failed"]).unwrap();
    let report = "INSERT INTO failure_reports (task_id, attempt_number, what_was_tried, why_it_failed,
                  created_at) VALUES (?1, ?2, '', '', 'x')";
    assert!(f.store.conn().changed(report, params![id.as_str(), 2]).is_err());
    f.store.conn().changed(report, params![id.as_str(), 1]).unwrap();
    f.store.conn().changed("DELETE FROM iteration_outcomes", []).unwrap();
    let left: i64 = f.store.conn().one("SELECT count(*) FROM failure_reports", []).unwrap();
    assert_eq!(left, 0);
}

#[test]
fn a_child_added_meanwhile_keeps_a_done_task_open() {
    let mut f = Fixture::new();
    let id = f.task("a", &[]);
    let (claimed, token) = f.claim().unwrap();
    let child = f.child("child", &id);
    f.capture(&outcome(&claimed, &token, Outcome::Done, TaskNext::Done)).unwrap();
    assert_eq!(f.status(&id), Status::Pending);
    assert_eq!(f.finish_next(), child);
    assert_eq!(f.status(&id), Status::Done);
    assert!(matches!(f.store.task("nobody"), Err(StoreError::UnknownTask(_))));
}
