//! Claims: one task, one holder.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::thread;

use super::{Engine, Fixture, NONE, NOW, event, outcome, request};
use crate::model::{DoneBy, Level, NewTask, Outcome, RunId, Status, Token, Verification};
use crate::store::sql::Changes;
use crate::store::{ClaimRequest, Mark, Purpose, Scope, StoreError, TaskNext, UnfinishedAttempt};

#[test]
fn plan_05_priority_first_then_plan_order() {
    let mut f = Fixture::new();
    let add = |f: &mut Fixture, title: &str, priority| {
        f.add(NewTask { title: title.into(), priority, ..NewTask::default() }).unwrap()
    };
    let late = add(&mut f, "late", 5);
    let first = add(&mut f, "first", 1);
    let second = add(&mut f, "second", 1);
    let urgent = add(&mut f, "urgent", -1);
    let order: Vec<_> = (0..4).map(|_| f.claim().unwrap().0.task.id).collect();
    assert_eq!(order, [urgent, first, second, late]);
    assert!(f.claim().is_none());
}

#[test]
fn plan_06_many_workers_never_share_a_task() {
    let mut f = Fixture::new();
    for n in 0..60 {
        f.task(&format!("task {n}"), &[]);
    }
    let engine = f.engine.clone();
    let taken = Arc::new(Mutex::new(Vec::new()));
    let workers: Vec<_> = (0..6_u64)
        .map(|worker| {
            let (engine, taken) = (engine.clone(), Arc::clone(&taken));
            thread::spawn(move || {
                let mut store = engine.open();
                for n in 0.. {
                    let token = Token::from_random(worker * 1000 + n);
                    let wish = request(Purpose::Attempt, &format!("r-{worker}"), token);
                    match store.claim(&wish).unwrap() {
                        Some(claimed) => taken.lock().unwrap().push(claimed.task.id),
                        None => return,
                    }
                }
            })
        })
        .collect();
    for worker in workers {
        worker.join().unwrap();
    }
    let taken = taken.lock().unwrap();
    let unique: HashSet<_> = taken.iter().collect();
    assert_eq!((taken.len(), unique.len()), (60, 60));
}

#[test]
fn a_scope_claims_only_what_is_in_it() {
    let mut f = Fixture::new();
    f.task("outside", &[]);
    let parent = f.task("parent", &[]);
    let child = f.child("child", &parent);
    let scoped = ClaimRequest {
        scope: Scope::Below(vec![parent]),
        ..request(Purpose::Attempt, "r-1", Token::from_random(1))
    };
    assert_eq!(f.store.claim(&scoped).unwrap().unwrap().task.id, child);
    let again = ClaimRequest { token: Token::from_random(2), ..scoped };
    assert!(f.store.claim(&again).unwrap().is_none());
}

#[test]
fn a_claim_carries_its_lease_and_a_release_gives_the_task_back() {
    let mut f = Fixture::new();
    let id = f.task("a", &[]);
    let (claimed, token) = f.claim().unwrap();
    assert_eq!((claimed.attempts, f.status(&id)), (NONE, Status::InProgress));
    let claim = f.store.claims().unwrap().remove(0);
    assert_eq!((claim.task_id, claim.token), (id.clone(), token.clone()));
    assert_eq!(claim.expires_at.since(NOW).as_secs(), 60);
    let later = NOW.plus(std::time::Duration::from_secs(500));
    f.store.heartbeat(&RunId::from_stored("r-1"), later, later).unwrap();
    assert_eq!(f.store.claims().unwrap()[0].expires_at, later);
    assert!(matches!(f.store.release(&id, &Token::from_random(99)), Err(StoreError::ClaimMoved(_))));
    f.store.release(&id, &token).unwrap();
    assert_eq!(f.status(&id), Status::Pending);
}

#[test]
fn a_task_under_way_is_not_a_persons_to_change() {
    let mut f = Fixture::new();
    let id = f.task("a", &[]);
    f.claim().unwrap();
    assert!(matches!(f.store.mark(&id, &Mark::Done, NOW), Err(StoreError::InProgress { .. })));
}

#[test]
fn plan_07_a_capture_whose_token_has_moved_is_refused_whole() {
    let mut f = Fixture::new();
    f.start_run("r-1");
    let id = f.task("a", &[]);
    let (claimed, token) = f.claim().unwrap();
    f.store.release(&id, &token).unwrap();
    let (_, new_token) = f.claim().unwrap();
    let stale = outcome(&claimed, &token, Outcome::Done, TaskNext::Done);
    assert!(matches!(f.capture(&stale), Err(StoreError::ClaimMoved(_))));
    assert_eq!(f.status(&id), Status::InProgress);
    let start = UnfinishedAttempt {
        attempt_number: 1,
        iteration: Some(1),
        agent: Some("a".into()),
        model: Some("m".into()),
        rationale: Some("r".into()),
        started_at: Some(NOW),
        commit_before: None,
        log_path: None,
        work_dir: Some(".".into()),
        learnings: Vec::new(),
    };
    assert!(matches!(
        f.store.begin_attempt(&id, &token, &start, &[], &mut event("r-1", 2)),
        Err(StoreError::ClaimMoved(_))
    ));
    let fresh = outcome(&claimed, &new_token, Outcome::Done, TaskNext::Done);
    f.capture(&fresh).unwrap();
}

#[test]
fn a_parent_with_a_gate_waits_for_it_and_then_works_itself() {
    let mut f = Fixture::new();
    let verify = Some("true".to_owned());
    let parent = f.add(NewTask { title: "p".into(), verify, ..NewTask::default() }).unwrap();
    let child = f.child("c", &parent);
    assert_eq!(f.finish_next(), child);
    assert_eq!(f.status(&parent), Status::Pending);
    assert!(f.claim().is_none());
    let (claimed, token) = f.claim_as(Purpose::ParentGate, "r-1").unwrap();
    let mut failed = outcome(&claimed, &token, Outcome::Failed, TaskNext::Pending);
    failed.own_work = true;
    f.capture(&failed).unwrap();
    // Its gate failed: now it is claimed like any other task.
    assert_eq!(f.finish_next(), parent);
    assert_eq!(f.status(&parent), Status::Done);
}

#[test]
fn plan_07_a_try_that_another_process_recorded_is_not_recorded_again() {
    let mut f = Fixture::new();
    let id = f.task("a", &[]);
    let (claimed, token) = f.claim().unwrap();
    let mut lost = outcome(&claimed, &token, Outcome::Error, TaskNext::Pending);
    lost.attempt.counted = false;
    f.capture(&lost).unwrap();
    // The holder comes back from a long sleep and knows nothing of that.
    let late = outcome(&claimed, &token, Outcome::Done, TaskNext::Done);
    assert!(matches!(f.capture(&late), Err(StoreError::ClaimMoved(_))));
    assert_eq!(f.status(&id), Status::Pending);
}

#[test]
fn a_child_added_while_its_parents_gate_runs_keeps_the_parent_open() {
    let mut f = Fixture::new();
    let verify = Some("true".to_owned());
    let parent = f.add(NewTask { title: "p".into(), verify, ..NewTask::default() }).unwrap();
    f.child("c", &parent);
    f.finish_next();
    let (_, token) = f.claim_as(Purpose::ParentGate, "r-1").unwrap();
    let late = f.child("late", &parent);
    let verification = Verification::of_level(Level::Gate);
    f.store.complete_parent(&parent, &token, DoneBy::Gate, &verification, &mut event("r-1", 9), NOW).unwrap();
    assert_eq!(f.status(&parent), Status::Pending);
    assert_eq!(f.claim().unwrap().0.task.id, late);
}

#[test]
fn attempts_under_way_elsewhere_in_the_chain_count_as_used() {
    let mut f = Fixture::new();
    f.start_run("r-1");
    let (one, other) = (f.task("one fix", &[]), f.task("another fix", &[]));
    let root = f.task("root", &[&one, &other]);
    for fix in [&one, &other] {
        f.store
            .conn()
            .changed(
                "INSERT INTO fixes (task_id, original_id, root_id, depth) VALUES (?1, ?2, ?2, 1)",
                [fix.as_str(), root.as_str()],
            )
            .unwrap();
    }
    let (first, token) = f.claim().unwrap();
    assert_eq!(f.store.attempts_used(&first.task.id).unwrap(), 0);
    let (second, _) = f.claim().unwrap();
    assert_eq!(f.store.attempts_used(&first.task.id).unwrap(), 1);
    let failed = outcome(&first, &token, Outcome::Failed, TaskNext::Pending);
    f.capture(&failed).unwrap();
    assert_eq!(f.store.attempts_used(&second.task.id).unwrap(), 1);
    assert_eq!(f.store.attempts_used(&root).unwrap(), 2);
    f.store.mark(&root, &Mark::Pending, NOW).unwrap();
    assert_eq!(f.store.attempts_used(&root).unwrap(), 1, "one is under way");
}
