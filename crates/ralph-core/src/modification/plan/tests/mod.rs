//! The rules one by one. The plan: `1.1` ← `1.2` ← `1.3` (the attempted one) ← `1.4`, and the parent
//! `P` of `1.3`.

mod circles;
mod gates;
mod keys;
mod kinds;
mod limits;

use super::{Change, Dependency, Known, Limits, Refusal, Standing, plan_change};
use crate::modification::{Kind, Proposed, Request};

const PLAN: [(&str, &str, &[&str]); 6] = [
    ("t-000001", "1.1", &[]),
    ("t-000002", "1.2", &["1.1"]),
    ("t-000003", "1.3", &["1.2"]),
    ("t-000004", "1.4", &["1.3"]),
    ("t-000005", "P", &["1.3"]),
    ("t-000006", "1.3.2", &[]),
];

fn plan(name: &str) -> Option<Known> {
    let (id, _, waits) = PLAN
        .iter()
        .find(|(id, key, _)| *id == name || *key == name)?;
    let waits_for = waits.iter().map(|name| (*name).to_owned()).collect();
    Some(Known {
        name: (*id).to_owned(),
        waits_for,
    })
}

fn standing() -> Standing<'static> {
    Standing {
        id: "t-000003",
        key: Some("1.3"),
        parent: None,
        has_gate: true,
        phase: Some(1.0),
        modifications: 0,
        depth: 0,
        has_open_children: false,
        plan: &plan,
        can_run: &|command| !command.starts_with("Look"),
    }
}

fn task(title: &str) -> Proposed {
    Proposed {
        title: title.into(),
        verify: Some("make".into()),
        ..Proposed::default()
    }
}

fn after(title: &str, names: &[&str]) -> Proposed {
    let depends = names.iter().map(|name| (*name).to_owned()).collect();
    Proposed {
        depends: Some(depends),
        ..task(title)
    }
}

fn keyed(key: &str) -> Proposed {
    Proposed {
        key: Some(key.into()),
        ..task("T")
    }
}

fn request(kind: Kind, proposed: impl Into<Vec<Proposed>>) -> Request {
    let proposed = proposed.into();
    Request {
        kind,
        original: "1.3".into(),
        reasoning: "Because".into(),
        proposed,
    }
}

fn split() -> Request {
    request(Kind::SplitTask, [task("A"), task("B")])
}

fn planned(request: &Request) -> Result<Change, Refusal> {
    plan_change(request, &standing(), &Limits::default())
}

fn refused(request: &Request) -> Refusal {
    let refusal = planned(request).unwrap_err();
    let sentence = refusal.to_string();
    assert!(
        !sentence.contains('\n') && sentence.contains(": "),
        "{sentence}"
    );
    refusal
}

fn keys(change: &Change) -> Vec<&str> {
    change.tasks.iter().map(|task| task.key.as_str()).collect()
}

fn new(key: &str) -> Dependency {
    Dependency::New(key.into())
}

fn existing(name: &str) -> Dependency {
    Dependency::Existing(name.into())
}
