//! What each kind of request comes to, and which task it may be about.

use super::{after, existing, keyed, keys, new, planned, request, task};
use crate::modification::plan::Place;
use crate::modification::{Kind, Proposed};

#[test]
fn mod_01_a_split_makes_children_that_run_in_order() {
    let change = planned(&request(
        Kind::SplitTask,
        [task("A"), task("B"), after("C", &[])],
    ))
    .unwrap();
    assert_eq!(
        keys(&change),
        ["1.3.1", "1.3.3", "1.3.4"],
        "the next free ones"
    );
    let depends: Vec<_> = change
        .tasks
        .iter()
        .map(|task| task.depends.as_slice())
        .collect();
    assert_eq!(
        depends,
        [&[][..], &[new("1.3.1")], &[]],
        "unless told otherwise"
    );
    assert_eq!(
        (change.place, change.original_depends.len()),
        (Place::BelowOriginal, 0)
    );
    assert_eq!(
        (change.depth, change.phase, change.reasoning.as_str()),
        (1, Some(1.0), "Because")
    );
}

#[test]
fn mod_01_a_prerequisite_is_what_the_original_then_depends_on() {
    let change = planned(&request(
        Kind::AddPrerequisite,
        [task("A"), after("B", &["t-000001"])],
    ))
    .unwrap();
    assert_eq!(change.original_depends, ["1.3.1", "1.3.3"]);
    assert_eq!(change.place, Place::BeforeOriginal);
    assert_eq!(change.tasks[0].depends, []);
    assert_eq!(change.tasks[1].depends, [existing("t-000001")]);
}

#[test]
fn mod_01_a_followup_depends_on_the_original() {
    let tasks = [task("A"), after("B", &["1.3", "1.3.1", "1.4", "1.4"])];
    let change = planned(&request(Kind::AddFollowup, tasks)).unwrap();
    assert_eq!(
        (change.place, change.original_depends.len()),
        (Place::AfterOriginal, 0)
    );
    assert_eq!(change.tasks[0].depends, [existing("t-000003")]);
    let expected = [existing("t-000003"), new("1.3.1"), existing("t-000004")];
    assert_eq!(change.tasks[1].depends, expected);
}

#[test]
fn mod_01_tasks_come_after_what_they_depend_on() {
    let first = Proposed {
        key: Some("a".into()),
        ..after("A", &["c"])
    };
    let change = planned(&request(Kind::SplitTask, [first, keyed("b"), keyed("c")])).unwrap();
    assert_eq!(keys(&change), ["b", "c", "a"]);
    assert_eq!(change.tasks[1].depends, [new("b")]);
    assert_eq!(change.tasks[2].depends, [new("c")]);
}
