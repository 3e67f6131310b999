//! Which events are told, and the exact JSON.

use std::time::Duration;

use ralph_core::decide::Budget;
use ralph_core::event::AttemptFinished;
use ralph_core::model::{Cost, Key, Outcome, RunId, TaskId};

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::notify::News;

fn place() -> Place {
    Place { name: "shop".into(), root: "/src/shop".into(), host: "lab".into() }
}

fn event(kind: EventKind) -> RunEvent {
    let at = Timestamp::from_secs(1_800_000_000);
    RunEvent::new(7, at, &RunId::from_stored("r-0badcafe"), kind)
}

fn task(id: &str, key: Option<&str>) -> TaskRef {
    TaskRef {
        task_id: TaskId::from_stored(id),
        key: key.map(Key::from_stored),
        spec: None,
        name: key.unwrap_or(id).to_owned(),
        title: "Parse dates".into(),
    }
}

fn attempt(id: &str, outcome: Outcome, status: Status) -> EventKind {
    EventKind::AttemptFinished(Box::new(AttemptFinished {
        agent: Some("claude".into()),
        task: task(id, Some("1.2")),
        attempt: 5,
        attempt_number: 6,
        gate: None,
        iteration: 9,
        model: "large".into(),
        outcome,
        error_type: None,
        counted: true,
        message: Some("it failed".into()),
        duration_ms: 1,
        cost_usd: None,
        cost_estimated: false,
        tokens_input: None,
        tokens_output: None,
        files_changed: None,
        gate_files_changed: Vec::new(),
        learned: 0,
        learnt: 0,
        status,
        verified: false,
        verification: ralph_core::model::Verification::default(),
        reason: (status == Status::Blocked).then(|| "5 failures in a row: no luck".into()),
    }))
}

fn ended(exit_code: i32, budget: Option<Budget>) -> EventKind {
    EventKind::RunFinished {
        exit_code,
        outcome: "w".into(),
        reason: "the reason".into(),
        hint: Some("the hint".into()),
        budget,
        attempts: 1,
        done: 0,
        cost: Cost::new(1.25, 0),
        duration_ms: 61_000,
        tasks: PlanCounts { total: 4, done: 3, verified: 2, blocked: 1, ..PlanCounts::default() },
    }
}

fn occasion(kind: EventKind) -> Option<Occasion> {
    notice(&event(kind), &place()).map(|notice| notice.occasion)
}

#[test]
fn the_json_of_a_blocked_task() {
    let kind = EventKind::HandedOver {
        task: task("t-00a1b2", Some("1.2")),
        reason: "it failed 5 times in a row".into(),
    };
    let notice = notice(&event(kind), &place()).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&notice).unwrap());
}

#[test]
fn the_json_of_a_run_that_ended() {
    let notice = notice(&event(ended(4, Some(Budget::RunCost))), &place()).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&notice).unwrap());
}

#[test]
fn the_end_of_a_run_is_told_by_its_exit_code() {
    for (code, budget, expected) in [
        (0, None, Some(Occasion::Done)),
        (1, None, Some(Occasion::Error)),
        (4, None, Some(Occasion::Limit)),
        (4, Some(Budget::DayCost), Some(Occasion::Budget)),
        (5, None, Some(Occasion::Blocked)),
        (6, None, Some(Occasion::Breaker)),
        (7, None, Some(Occasion::Error)),
        (130, None, None),
        (143, None, None),
    ] {
        assert_eq!(occasion(ended(code, budget)), expected, "{code}");
    }
    let told = notice(&event(ended(5, None)), &place()).unwrap();
    assert_eq!(
        told.message,
        "the reason\nthe hint\n3 of 4 done (2 verified, 1 unverified) · 1 blocked\n1 attempt, 1 min 1 s, $1.25"
    );
    assert_eq!((told.exit_code, told.cost_usd), (Some(5), Some(1.25)));
    assert_eq!(told.tasks.map(|tasks| tasks.blocked), Some(1));
}

#[test]
fn skipped_and_unverified_tasks_are_not_told_of_as_done() {
    for (skipped, verified, title) in [
        (0, 4, "shop: every task is done"),
        (0, 3, "shop: every task is done, some unverified"),
        (1, 4, "shop: every task is done or skipped"),
        (1, 3, "shop: every task is done or skipped, some unverified"),
    ] {
        let mut kind = ended(0, None);
        if let EventKind::RunFinished { tasks, .. } = &mut kind {
            (tasks.done, tasks.verified, tasks.skipped, tasks.blocked) = (4, verified, skipped, 0);
        }
        assert_eq!(notice(&event(kind), &place()).unwrap().title, title);
    }
}

#[test]
fn a_task_is_told_of_where_it_waits_for_a_person() {
    let failed = attempt("t-000001", Outcome::Failed, Status::Blocked);
    let told = notice(&event(failed), &place()).unwrap();
    assert_eq!(told.occasion, Occasion::Blocked);
    assert_eq!(told.title, "shop: 1.2 Parse dates is blocked and needs you");
    assert_eq!(told.message, "5 failures in a row: no luck");
    assert_eq!(told.next.as_deref(), Some("ralph run 1.2"));
    // Only the report is missing.
    let mut green = attempt("t-000001", Outcome::NoSigil, Status::Blocked);
    if let EventKind::AttemptFinished(finished) = &mut green {
        finished.gate = Some(ralph_core::model::GateOutcome::Passed);
    }
    let told = notice(&event(green), &place()).unwrap();
    assert_eq!(told.next.as_deref(), Some("ralph task done 1.2 --verify"));
    let again = attempt("t-000001", Outcome::Failed, Status::Pending);
    assert_eq!(occasion(again), None);
    let lost = |status| EventKind::LostFound {
        task: task("t-000001", None),
        lost_run_id: RunId::from_stored("r-1"),
        counted: true,
        status,
        verified: false,
    };
    assert_eq!(occasion(lost(Status::Blocked)), Some(Occasion::Blocked));
    assert_eq!(occasion(lost(Status::Pending)), None);
}

#[test]
fn the_command_to_type_is_safe_to_type() {
    let next = |key| {
        let kind = EventKind::HandedOver { task: task("t-00a1b2", key), reason: String::new() };
        notice(&event(kind), &place()).unwrap().next.unwrap()
    };
    assert_eq!(next(None), "ralph run t-00a1b2");
    assert_eq!(next(Some("V4")), "ralph run V4");
    assert_eq!(next(Some("#12")), "ralph run t-00a1b2");
    assert_eq!(next(Some("1; rm -rf /")), "ralph run t-00a1b2");
}

#[test]
fn the_breaker_is_told_with_its_analysis_and_the_limit_with_its_end() {
    let at = Timestamp::from_secs(1_800_000_000);
    let breaker = notice(&sample(Occasion::Breaker, at), &place()).unwrap();
    assert!(breaker.message.contains("Suggestion: install npm"), "{}", breaker.message);
    assert_eq!(breaker.next.as_deref(), Some("ralph analyze"));
    let limit = notice(&sample(Occasion::Limit, at), &place()).unwrap();
    assert!(
        limit.message.contains(&format!("until {}", at.plus(Duration::from_secs(3600)).local())),
        "{}",
        limit.message
    );
    let other =
        EventKind::Waiting { waiting_for: WaitingFor::Service, reason: "the service".into(), until: None };
    assert_eq!(occasion(other), None);
}

#[test]
fn there_is_a_sample_of_every_occasion() {
    for occasion in Occasion::ALL {
        let sample = sample(occasion, Timestamp::from_secs(0));
        assert_eq!(notice(&sample, &place()).unwrap().occasion, occasion);
    }
}

#[test]
fn hostile_text_is_tamed_everywhere() {
    let key = format!("sk-ant-{}", "a1".repeat(20));
    let hostile = format!("\u{1b}]0;x\u{7}{key}\u{0}{}", " long".repeat(5000));
    let mut bad = task("t-00a1b2", None);
    bad.title = hostile.clone();
    let kind = EventKind::GivenUp { task: bad, lines: vec![hostile; 1000] };
    let place = Place { name: format!("a\u{1b}[2J\n{key}"), ..place() };
    let json = serde_json::to_string(&notice(&event(kind), &place).unwrap()).unwrap();
    assert!(!json.contains(&key), "the key is out");
    assert!(!json.contains("\\u00"), "control codes are out");
    assert!(json.len() < 70_000, "{} bytes", json.len());
}

fn all() -> News {
    News::new(Occasion::ALL.to_vec())
}

#[test]
fn a_task_is_told_of_once_and_another_too() {
    let mut told = all();
    let mut news = |kind| told.of(&event(kind), &place()).is_some();
    assert!(news(attempt("t-000001", Outcome::Failed, Status::Blocked)));
    let lines = vec!["given up".to_owned()];
    assert!(!news(EventKind::GivenUp { task: task("t-000001", None), lines: lines.clone() }));
    assert!(!news(attempt("t-000001", Outcome::Failed, Status::Blocked)));
    assert!(news(EventKind::GivenUp { task: task("t-000002", None), lines }));
    assert!(news(ended(5, None)), "that the run is over is news");
}

#[test]
fn the_breaker_is_told_of_once_until_something_is_done() {
    let mut told = all();
    let breaker = || sample(Occasion::Breaker, Timestamp::from_secs(0));
    assert!(told.of(&breaker(), &place()).is_some());
    assert!(told.of(&event(ended(6, None)), &place()).is_none());
    let failed = attempt("t-000001", Outcome::Failed, Status::Pending);
    told.of(&event(failed), &place());
    assert!(told.of(&breaker(), &place()).is_none());
    let done = attempt("t-000001", Outcome::Done, Status::Done);
    told.of(&event(done), &place());
    assert!(told.of(&breaker(), &place()).is_some());
    assert!(all().of(&event(ended(6, None)), &place()).is_some());
}

#[test]
fn a_limit_is_told_of_once_until_an_attempt_counts() {
    let mut told = all();
    let limit = || sample(Occasion::Limit, Timestamp::from_secs(0));
    assert!(told.of(&limit(), &place()).is_some());
    assert!(told.of(&limit(), &place()).is_none());
    let failed = attempt("t-000001", Outcome::Failed, Status::Pending);
    told.of(&event(failed), &place());
    assert!(told.of(&limit(), &place()).is_some());
}

#[test]
fn what_is_not_wanted_is_not_told() {
    let mut told = News::new(vec![Occasion::Done]);
    assert!(told.of(&event(ended(0, None)), &place()).is_some());
    assert!(told.of(&event(ended(1, None)), &place()).is_none());
    let mut nothing = News::new(Vec::new());
    assert!(nothing.of(&event(ended(0, None)), &place()).is_none());
}

#[test]
fn secrets_and_control_codes_do_not_leave() {
    let key = format!("sk-ant-{}", "a1".repeat(20));
    let hostile = format!("key \u{1b}[31m{key}\u{7}\u{0} \u{202e}end");
    assert_eq!(safe_line(&hostile, 100), "key [masked] end");
    let event = json!({ "message": hostile, "list": [key, 1, null], "deep": { "a": [key] } });
    let expected = json!({
        "message": "key [masked] end", "list": ["[masked]", 1, null], "deep": { "a": ["[masked]"] }
    });
    assert_eq!(safe_value(event), expected);
}

#[test]
fn nothing_is_longer_than_it_may_be() {
    assert_eq!(safe_line(&"word ".repeat(1000), 50).chars().count(), 50);
    let many = vec!["x".repeat(5000); 100];
    let message = safe_lines(&many);
    assert_eq!(message.lines().count(), LINES);
    assert!(message.chars().count() <= LINES * (LINE + 1));
    let Value::Array(few) = safe_value(json!(many)) else {
        panic!("no list");
    };
    assert_eq!(few.len(), ENTRIES);
    assert!(few.iter().all(|text| text.as_str().unwrap().chars().count() == TEXT + 1));
}

proptest! {
    #[test]
    fn any_text_becomes_a_few_clean_lines(texts in proptest::collection::vec(any::<String>(), 0..20)) {
        let message = safe_lines(&texts);
        prop_assert!(message.chars().count() <= LINES * (LINE + 1));
        prop_assert!(message.chars().all(|c| c == '\n' || !c.is_control()));
    }
}
