//! The ready set against a model that anybody can check: after any story the store and the model agree.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::select;

use super::{Fixture, NOW, outcome};
use crate::model::{DoneBy, Level, NewTask, Outcome, Status, Task, TaskEdit, TaskId, Verification};
use crate::store::{Children, Mark, Purpose, Scope, TaskNext};

#[derive(Clone, Debug)]
enum Step {
    Add { parent: Option<usize>, after: Vec<usize>, priority: i64, gate: bool },
    Depend(usize, usize),
    Undepend(usize, usize),
    Move(usize, Option<usize>),
    Done(usize),
    Verify(usize),
    Fail(usize),
    Skip(usize),
    Reset(usize),
    Delete(usize),
    ClaimAndFinish { done: bool, level: Level, green: bool },
    ParentGate { passes: bool },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let n = || 0_usize..12;
    let step = prop_oneof![
        6 => (proptest::option::of(n()), proptest::collection::vec(n(), 0..3), -1_i64..2, any::<bool>())
            .prop_map(|(parent, after, priority, gate)| Step::Add { parent, after, priority, gate }),
        3 => (n(), n()).prop_map(|(a, b)| Step::Depend(a, b)),
        1 => (n(), n()).prop_map(|(a, b)| Step::Undepend(a, b)),
        1 => (n(), proptest::option::of(n())).prop_map(|(a, b)| Step::Move(a, b)),
        2 => n().prop_map(Step::Done),
        1 => n().prop_map(Step::Verify),
        1 => n().prop_map(Step::Fail),
        1 => n().prop_map(Step::Skip),
        2 => n().prop_map(Step::Reset),
        1 => n().prop_map(Step::Delete),
        4 => (any::<bool>(), select(&Level::ALL[..]), any::<bool>()).prop_map(|(done, level, green)| {
            Step::ClaimAndFinish { done, level, green }
        }),
        2 => any::<bool>().prop_map(|passes| Step::ParentGate { passes }),
    ];
    proptest::collection::vec(step, 1..40)
}

/// What is ready according to the words of the design, from scratch.
fn naive_ready(fixture: &Fixture) -> Vec<TaskId> {
    let plan = fixture.store.skeleton().unwrap();
    let by_id: BTreeMap<_, _> = plan.iter().map(|node| (node.id.clone(), node)).collect();
    plan.iter()
        .filter(|node| {
            let children: Vec<_> = plan.iter().filter(|c| c.parent.as_ref() == Some(&node.id)).collect();
            let leaf = children.is_empty()
                || (node.own_work && children.iter().all(|child| child.status.satisfies()));
            let free =
                node.depends_on.iter().all(|id| by_id.get(id).is_none_or(|dep| dep.status.satisfies()));
            let mut above = node.parent.clone();
            let mut failed_above = false;
            while let Some(parent) = above.and_then(|id| by_id.get(&id).copied()) {
                failed_above |= parent.status == Status::Failed;
                above = parent.parent.clone();
            }
            node.status == Status::Pending && leaf && free && !failed_above
        })
        .map(|node| node.id.clone())
        .collect()
}

fn play(fixture: &mut Fixture, ids: &mut Vec<TaskId>, step: &Step) {
    let pick = |n: usize| ids.get(n % ids.len().max(1)).cloned();
    // Refusals (circles, unknown tasks) are part of the story; what counts is the state afterwards.
    match step {
        Step::Add { parent, after, priority, gate } => {
            let parent = parent.and_then(pick);
            let after = after.iter().filter_map(|n| pick(*n)).collect();
            let verify = gate.then(|| "true".to_owned());
            let new = NewTask {
                title: "t".into(),
                parent,
                after,
                priority: *priority,
                verify,
                ..NewTask::default()
            };
            if let Ok(id) = fixture.add(new) {
                ids.push(id);
            }
        }
        Step::Depend(a, b) => {
            if let (Some(a), Some(b)) = (pick(*a), pick(*b)) {
                let _ = fixture.store.add_dependency(&a, &b, NOW);
            }
        }
        Step::Undepend(a, b) => {
            if let (Some(a), Some(b)) = (pick(*a), pick(*b)) {
                let _ = fixture.store.remove_dependency(&a, &b, NOW);
            }
        }
        Step::Move(a, b) => {
            if let Some(a) = pick(*a) {
                let edit = TaskEdit { parent: Some(b.and_then(pick)), ..TaskEdit::default() };
                let _ = fixture.store.edit_task(&a, &edit, NOW);
            }
        }
        Step::Done(n) | Step::Verify(n) | Step::Fail(n) | Step::Skip(n) | Step::Reset(n) => {
            let mark = match step {
                Step::Done(_) => Mark::Done,
                Step::Verify(_) => Mark::Verified(Box::new(Verification::of_level(Level::Gate))),
                Step::Fail(_) => Mark::Failed { reason: None },
                Step::Skip(_) => Mark::Skipped { reason: None },
                _ => Mark::Pending,
            };
            if let Some(id) = pick(*n) {
                fixture.store.mark(&id, &mark, NOW).unwrap();
            }
        }
        Step::Delete(n) => {
            if let Some(id) = pick(*n)
                && let Ok(deleted) = fixture.store.delete_task(&id, Children::Delete, NOW)
            {
                ids.retain(|id| !deleted.tasks.contains(id));
            }
        }
        Step::ClaimAndFinish { done, level, green } => {
            if let Some((claimed, token)) = fixture.claim() {
                let (how, next) = match done {
                    true => (Outcome::Done, TaskNext::Done),
                    false => (Outcome::Failed, TaskNext::Pending),
                };
                let mut capture = outcome(&claimed, &token, how, next);
                capture.attempt.verification = Verification {
                    level: *level,
                    already_green: *green && level.is_verified(),
                    ..Verification::default()
                };
                fixture.capture(&capture).unwrap();
            }
        }
        Step::ParentGate { passes } => {
            let Some((claimed, token)) = fixture.claim_as(Purpose::ParentGate, "r-1") else { return };
            if *passes {
                fixture.counter += 1;
                let mut event = super::event("r-1", fixture.counter);
                fixture
                    .store
                    .complete_parent(
                        &claimed.task.id,
                        &token,
                        DoneBy::Gate,
                        &Verification::of_level(Level::Gate),
                        &mut event,
                        NOW,
                    )
                    .unwrap();
            } else {
                let mut capture = outcome(&claimed, &token, Outcome::Failed, TaskNext::Pending);
                capture.own_work = true;
                fixture.capture(&capture).unwrap();
            }
        }
    }
}

/// The level of a done task and whether its gate was green before: of a parent, those of the weakest task below it.
fn naive_level(task: &Task, tasks: &[Task]) -> (Level, bool) {
    let rank = |level: &Level| {
        [Level::None, Level::Review, Level::Project, Level::Gate].iter().position(|l| l == level)
    };
    let verification = task.verification.as_ref().unwrap();
    if task.done_by != Some(DoneBy::Children) {
        return (verification.level, verification.already_green);
    }
    let children = tasks.iter().filter(|c| c.parent_id.as_ref() == Some(&task.id));
    let done = children.filter(|child| child.status == Status::Done);
    let levels: Vec<(Level, bool)> = done.map(|child| naive_level(child, tasks)).collect();
    let level = levels.iter().map(|(level, _)| *level).min_by_key(rank).unwrap_or_default();
    (level, level.is_verified() && levels.iter().any(|(_, green)| *green))
}

/// Whether a task or one above it is failed; such a branch rests as it is.
fn failed_branch(fixture: &Fixture, task: &crate::model::Task) -> bool {
    let mut above = task.parent_id.clone();
    while let Some(parent) = above.map(|id| fixture.store.task(id.as_str()).unwrap()) {
        if parent.status == Status::Failed {
            return true;
        }
        above = parent.parent_id;
    }
    false
}

proptest! {
    #![proptest_config(ProptestConfig { cases: super::STORIES, ..ProptestConfig::default() })]
    #[test]
    fn plan_04_05_ready_is_what_the_design_says_after_any_story(story in steps()) {
        let mut fixture = Fixture::new();
        let mut ids = Vec::new();
        for step in &story {
            play(&mut fixture, &mut ids, step);
            let ready = fixture.store.ready(&Scope::All, usize::MAX).unwrap();
            prop_assert_eq!(&ready, &naive_ready(&fixture), "after {:?} in {:?}", step, story);
            prop_assert_eq!(ready.len() as u64, fixture.store.ready_count().unwrap());
        }
        let counts = fixture.store.counts().unwrap();
        let tasks = fixture.store.tasks(None).unwrap();
        let n = |status| tasks.iter().filter(|task| task.status == status).count() as u64;
        prop_assert_eq!(counts.total, tasks.len() as u64);
        prop_assert_eq!(counts.done, n(Status::Done));
        prop_assert_eq!(counts.pending, n(Status::Pending));
        prop_assert_eq!(counts.skipped, n(Status::Skipped));
        prop_assert_eq!(counts.failed, n(Status::Failed));
        let verifications = tasks.iter().filter_map(|task| task.verification.as_ref());
        let count = |wanted: &dyn Fn(&Verification) -> bool| {
            verifications.clone().filter(|verification| wanted(verification)).count() as u64
        };
        prop_assert_eq!(counts.verified, count(&|it| it.level.is_verified()));
        prop_assert_eq!(counts.already_green, count(&|it| it.already_green));
        prop_assert_eq!(counts.reviewed, count(&|it| it.level == Level::Review));
        for task in &tasks {
            prop_assert_eq!(task.status == Status::Done, task.done_by.is_some());
            prop_assert_eq!(task.status == Status::Done, task.verification.is_some());
            let Some(verification) = &task.verification else {
                continue;
            };
            let rests_on = (verification.level, verification.already_green);
            prop_assert_eq!(rests_on, naive_level(task, &tasks), "{} in {:?}", task.id, story);
            prop_assert_eq!(task.verified, verification.level.is_verified());
        }
        // A parent whose children and dependencies are all finished is never left pending without a gate to wait for.
        for task in &tasks {
            let children = fixture.store.children(&task.id).unwrap();
            let all = !children.is_empty() && children.iter().all(|child| child.status.satisfies());
            let waits = task.depends_on.iter().any(|id| {
                fixture.store.task(id.as_str()).is_ok_and(|dep| !dep.status.satisfies())
            });
            let hidden = failed_branch(&fixture, task) || task.attempts > 0 || waits;
            if all && task.verify.is_none() && !hidden {
                prop_assert_ne!(task.status, Status::Pending, "{} in {:?}", task.id, story);
            }
        }
        // What is claimed is always the first of the ready ones.
        let first = fixture.store.ready(&Scope::All, 1).unwrap();
        let claimed = fixture.claim().map(|(claimed, _)| claimed.task.id);
        prop_assert_eq!(first.first(), claimed.as_ref());
    }
}
