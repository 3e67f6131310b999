//! The story of runs, and the logs that are needed.

use super::*;
use crate::event::WaitingFor;
use crate::store::UnfinishedAttempt;

fn at(seconds: u64) -> Timestamp {
    NOW.plus(Duration::from_secs(seconds))
}

fn tell(f: &mut Fixture, seq: u64, kind: EventKind) {
    let event = RunEvent::new(seq, at(seq), &RunId::from_stored("r-1"), kind);
    f.store.append_event(&mut { event }).unwrap();
}

fn waiting() -> EventKind {
    EventKind::Waiting { waiting_for: WaitingFor::Limit, reason: "a limit".into(), until: None }
}

#[test]
fn events_come_in_portions_and_waits_end_with_the_next_event() {
    let mut f = Fixture::new();
    f.start_run("r-1");
    tell(&mut f, 10, waiting());
    tell(&mut f, 12, EventKind::WaitOver);
    tell(&mut f, 20, waiting());
    let run = RunId::from_stored("r-1");
    let seqs = |after, most| -> Vec<u64> {
        let events = f.store.some_events(&run, after, most).unwrap();
        events.iter().map(|event| event.seq).collect()
    };
    assert_eq!(seqs(0, 3), [1, 10, 12]);
    assert_eq!(seqs(12, 3), [20]);
    let kinds = f.store.events_of_kind(&run, "waiting").unwrap();
    assert_eq!(kinds.len(), 2);
    let last = f.store.last_event(&run, None).unwrap().unwrap();
    assert_eq!((last.seq, last.at, last.kind.as_str()), (20, at(20), "waiting"));
    assert_eq!(last.read().unwrap().kind.name(), "waiting");
    let over = f.store.last_event(&run, Some("wait_over")).unwrap();
    assert_eq!(over.unwrap().seq, 12);
    let none = f.store.last_event(&run, Some("run_finished")).unwrap();
    assert_eq!(none, None);
}

#[test]
fn two_workers_of_a_run_never_share_a_number() {
    let mut f = Fixture::new();
    f.start_run("r-1");
    tell(&mut f, 5, EventKind::WaitOver);
    tell(&mut f, 5, EventKind::BreakerProbes);
    tell(&mut f, 3, EventKind::Paused);
    let run = RunId::from_stored("r-1");
    let events = f.store.some_events(&run, 1, 9).unwrap();
    let seqs: Vec<(u64, u64)> = events.iter().map(|event| (event.seq, event.read().unwrap().seq)).collect();
    assert_eq!(seqs, [(5, 5), (6, 6), (7, 7)]);
}

#[test]
fn waits_have_a_length_unless_they_go_on() {
    let mut f = Fixture::new();
    f.start_run("r-1");
    tell(&mut f, 10, waiting());
    tell(&mut f, 12, EventKind::WaitOver);
    tell(&mut f, 20, waiting());
    let waits = f.store.waits(&RunId::from_stored("r-1")).unwrap();
    let times: Vec<_> = waits.iter().map(|wait| (wait.from, wait.to)).collect();
    assert_eq!(times, [(at(10), Some(at(12))), (at(20), None)]);
}

/// Claims the next task and begins an attempt with this log.
fn begin(f: &mut Fixture, log: &str) -> (Claimed, Token) {
    let (claimed, token) = f.claim().unwrap();
    let start = UnfinishedAttempt {
        attempt_number: claimed.attempts.recorded + 1,
        iteration: Some(1),
        agent: Some("mine".into()),
        model: Some("small".into()),
        rationale: Some("default".into()),
        started_at: Some(NOW),
        commit_before: None,
        log_path: Some(log.into()),
        work_dir: Some("/w".into()),
        learnings: Vec::new(),
    };
    f.counter += 1;
    let seq = 1000 + f.counter;
    f.store.begin_attempt(&claimed.task.id, &token, &start, &[], &mut event("r-1", seq)).unwrap();
    (claimed, token)
}

fn end(f: &mut Fixture, log: &str, held: (Claimed, Token), next: TaskNext) {
    let (claimed, token) = held;
    let done = next == TaskNext::Done;
    let how = if done { Outcome::Done } else { Outcome::Failed };
    let mut capture = outcome(&claimed, &token, how, next);
    capture.attempt.log_path = Some(log.into());
    f.capture(&capture).unwrap();
}

#[test]
fn logs_under_way_and_the_last_of_what_is_not_done_are_needed() {
    let mut f = Fixture::new();
    f.start_run("r-1");
    f.task("first", &[]);
    f.task("second", &[]);
    let needed = |f: &Fixture| {
        let mut logs = f.store.needed_logs().unwrap();
        logs.sort();
        logs
    };
    let held = begin(&mut f, "a1");
    assert_eq!(needed(&f), ["a1"]);
    end(&mut f, "a1", held, TaskNext::Pending);
    assert_eq!(needed(&f), ["a1"]);
    let held = begin(&mut f, "a2");
    // The one before is the last that was recorded, should this one be lost.
    assert_eq!(needed(&f), ["a1", "a2"]);
    end(&mut f, "a2", held, TaskNext::Pending);
    assert_eq!(needed(&f), ["a2"]);
    let held = begin(&mut f, "a3");
    end(&mut f, "a3", held, TaskNext::Done);
    assert_eq!(needed(&f), [""; 0]);
    let held = begin(&mut f, "b1");
    let reason = "too hard".to_owned();
    end(&mut f, "b1", held, TaskNext::Blocked { reason });
    assert_eq!(needed(&f), ["b1"]);
}

#[test]
fn what_a_run_prints_is_needed_until_it_ends() {
    let mut f = Fixture::new();
    let run = NewRun {
        defaults_revision: 0,
        id: RunId::from_stored("r-9"),
        started_at: NOW,
        owner: owner(),
        settings: "{}".into(),
        output: Some(".ralph/logs/run-r-9.log".into()),
        expires_at: NOW,
        jobs: 1,
        branch: None,
        sandbox: crate::sandbox::Enforced::default(),
    };
    f.store.start_run(&run, &mut event("r-9", 1)).unwrap();
    assert_eq!(f.store.needed_logs().unwrap(), [".ralph/logs/run-r-9.log"]);
    f.store.close_dead_run(&run.id, NOW).unwrap();
    assert_eq!(f.store.needed_logs().unwrap(), [""; 0]);
}

#[test]
fn changes_of_others_are_seen() {
    let mut f = Fixture::new();
    let other = f.engine.open();
    let before = other.changes().unwrap();
    assert_eq!(other.changes().unwrap(), before);
    f.task("first", &[]);
    assert_ne!(other.changes().unwrap(), before);
}
