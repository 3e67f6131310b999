//! Whatever is granted, the plan can still be done.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use proptest::sample::select;

use super::{Plan, judged, look_up};
use crate::modification::{Change, Dependency, Kind, Place, Proposed, Refusal, Request};

fn plan() -> impl Strategy<Value = Plan> {
    let waits = proptest::collection::vec(any::<prop::sample::Index>(), 0..3);
    proptest::collection::vec(waits, 5..12).prop_map(|tasks| {
        let earlier = |(at, waits): (usize, Vec<prop::sample::Index>)| match at {
            0 => Vec::new(),
            _ => waits.iter().map(|wait| wait.index(at)).collect(),
        };
        tasks.into_iter().enumerate().map(earlier).collect()
    })
}

fn proposed() -> impl Strategy<Value = Proposed> {
    let key = proptest::option::of(select(vec!["a", "b", "c", "d", "e", "k3.2", "k1"]));
    let name = select(vec![
        "a", "b", "c", "k0", "k1", "k2", "k3", "k4", "k9", "k3.1", "k3.2",
    ]);
    let depends = proptest::option::of(proptest::collection::vec(name, 0..3));
    (key, depends).prop_map(|(key, depends)| Proposed {
        key: key.map(str::to_owned),
        title: "T".into(),
        depends: depends.map(|names| names.into_iter().map(str::to_owned).collect()),
        ..Proposed::default()
    })
}

/// Everything that waits for something once the change is made, by its definition.
fn changed(plan: &Plan, change: &Change, parent: Option<&str>) -> HashMap<String, Vec<String>> {
    let mut waits: HashMap<String, Vec<String>> = (0..plan.len())
        .filter_map(|at| look_up(plan, &format!("k{at}")))
        .map(|known| (known.name, known.waits_for))
        .collect();
    for task in &change.tasks {
        let depends = task
            .depends
            .iter()
            .map(|other| other.name().to_owned())
            .collect();
        assert_eq!(
            waits.insert(task.key.clone(), depends),
            None,
            "a key that was free"
        );
    }
    let keys: Vec<String> = change.tasks.iter().map(|task| task.key.clone()).collect();
    let above = match change.place {
        Place::BelowOriginal => Some("k3"),
        Place::BeforeOriginal | Place::AfterOriginal => parent,
    };
    if let Some(above) = above {
        waits.get_mut(above).unwrap().extend(keys);
    }
    waits
        .get_mut("k3")
        .unwrap()
        .extend(change.original_depends.iter().cloned());
    waits
}

/// Whether everything can be done at some time.
fn can_be_done(waits: &HashMap<String, Vec<String>>) -> bool {
    let mut done: HashSet<&str> = HashSet::new();
    loop {
        let before = done.len();
        for (name, waits) in waits {
            if waits.iter().all(|other| done.contains(other.as_str())) {
                done.insert(name);
            }
        }
        if done.len() == before {
            return before == waits.len();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn plan_02_a_granted_change_leaves_a_plan_that_can_be_done(
        plan in plan(),
        tasks in proptest::collection::vec(proposed(), 0..5),
        kind in select(Kind::ALL.to_vec()),
        with_parent in any::<bool>(),
    ) {
        // A parent waits for its child.
        let mut plan = plan;
        let parent = (with_parent && plan.len() > 5).then(|| plan.len() - 1);
        if let Some(parent) = parent {
            plan[parent].push(3);
        }
        let parent = parent.map(|at| format!("k{at}"));
        let request = Request { kind, original: "k3".into(), reasoning: "r".into(), proposed: tasks };
        match judged(&request, &plan, parent.as_deref()) {
            Ok(change) => {
                prop_assert_eq!(change.tasks.len(), request.proposed.len());
                prop_assert!(can_be_done(&changed(&plan, &change, parent.as_deref())));
                in_order(&change)?;
            }
            Err(Refusal::Circle { path }) => {
                prop_assert!(path.len() > 1 && path.first() == path.last());
            }
            Err(_) => {}
        }
    }

    #[test]
    fn plan_02_only_real_circles_are_refused(
        plan in plan(), names in proptest::collection::vec(select(vec!["k0", "k1", "k2", "k4"]), 0..3),
    ) {
        let depends = names.iter().map(|name| (*name).to_owned()).collect();
        let task = Proposed { title: "T".into(), depends: Some(depends), ..Proposed::default() };
        let kind = Kind::AddPrerequisite;
        let request = Request { kind, original: "k3".into(), reasoning: "r".into(), proposed: vec![task] };
        let granted = judged(&request, &plan, None).is_ok();
        let closes = names.contains(&"k4") && plan[4].contains(&3);
        prop_assert_eq!(granted, !closes);
    }
}

/// Keys differ, and every task comes after the new ones it depends on.
fn in_order(change: &Change) -> Result<(), TestCaseError> {
    let mut earlier = HashSet::new();
    for task in &change.tasks {
        for other in &task.depends {
            if let Dependency::New(key) = other {
                prop_assert!(earlier.contains(key));
            }
        }
        prop_assert!(earlier.insert(task.key.clone()));
    }
    Ok(())
}
