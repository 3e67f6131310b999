//! Rules of the plan that the store keeps.

use super::{Fixture, NOW};
use crate::model::{Key, NewTask, Status, TaskEdit};
use crate::store::{Children, Mark, StoreError};

#[test]
fn plan_02_cycles_are_refused_and_named_and_nothing_changes() {
    let mut f = Fixture::new();
    let a = f.task("a", &[]);
    let b = f.task("b", &[&a]);
    let c = f.task("c", &[&b]);
    let before = f.store.skeleton().unwrap();
    let error = f.store.add_dependency(&a, &c, NOW).unwrap_err();
    let StoreError::Cycle(path) = &error else { panic!("{error}") };
    assert_eq!(path, &[a.to_string(), c.to_string(), b.to_string(), a.to_string()]);
    assert!(matches!(f.store.add_dependency(&a, &a, NOW), Err(StoreError::Cycle(_))));
    assert_eq!(f.store.skeleton().unwrap(), before);
}

#[test]
fn plan_02_cycles_over_parents_and_dependencies_are_refused() {
    let mut f = Fixture::new();
    let parent = f.task("parent", &[]);
    let child = f.child("child", &parent);
    let other = f.task("other", &[&parent]);
    // The parent waits for its child, the child would wait for what waits for the parent.
    assert!(matches!(f.store.add_dependency(&child, &other, NOW), Err(StoreError::Cycle(_))));
    assert!(matches!(f.store.add_dependency(&child, &parent, NOW), Err(StoreError::Cycle(_))));
    let below = TaskEdit { parent: Some(Some(child.clone())), ..TaskEdit::default() };
    assert!(matches!(f.store.edit_task(&parent, &below, NOW), Err(StoreError::Cycle(_))));
    let new = NewTask {
        title: "x".into(),
        parent: Some(parent.clone()),
        after: vec![other.clone()],
        ..NewTask::default()
    };
    assert!(matches!(f.add(new), Err(StoreError::Cycle(_))));
    assert_eq!(f.store.tasks(None).unwrap().len(), 3);
}

#[test]
fn plan_02_unknown_names_and_duplicate_keys_are_refused() {
    let mut f = Fixture::new();
    let key = |key: &str| Some(Key::parse(key).unwrap());
    let first = f.add(NewTask { title: "a".into(), key: key("1.1"), ..NewTask::default() }).unwrap();
    let second = f.add(NewTask { title: "b".into(), key: key("1.2"), ..NewTask::default() }).unwrap();
    let again = f.add(NewTask { title: "c".into(), key: key("1.1"), ..NewTask::default() });
    assert!(matches!(again, Err(StoreError::DuplicateKey { holder, .. }) if holder == first));
    let edit = TaskEdit { key: Some(key("1.1")), ..TaskEdit::default() };
    assert!(matches!(f.store.edit_task(&second, &edit, NOW), Err(StoreError::DuplicateKey { .. })));
    // Its own key again is no duplicate.
    f.store.edit_task(&first, &edit, NOW).unwrap();
    assert!(matches!(f.store.task("9.9"), Err(StoreError::UnknownTask(name)) if name == "9.9"));
}

#[test]
fn a_parent_is_done_when_its_children_are_and_a_reset_reopens_it() {
    let mut f = Fixture::new();
    let top = f.task("top", &[]);
    let middle = f.child("middle", &top);
    let a = f.child("a", &middle);
    let b = f.child("b", &middle);
    f.store.mark(&a, &Mark::Done, NOW).unwrap();
    assert_eq!(f.status(&middle), Status::Pending);
    f.store.mark(&b, &Mark::Skipped { reason: None }, NOW).unwrap();
    assert_eq!((f.status(&middle), f.status(&top)), (Status::Done, Status::Done));
    f.store.mark(&a, &Mark::Pending, NOW).unwrap();
    assert_eq!((f.status(&middle), f.status(&top)), (Status::Pending, Status::Pending));
    // A new child of a finished parent opens it too.
    f.store.mark(&a, &Mark::Done, NOW).unwrap();
    f.child("c", &middle);
    assert_eq!((f.status(&middle), f.status(&top)), (Status::Pending, Status::Pending));
}

#[test]
fn a_skipped_parent_skips_its_children_and_a_reset_brings_them_back() {
    let mut f = Fixture::new();
    let top = f.task("top", &[]);
    let done = f.child("done", &top);
    let open = f.child("open", &top);
    f.store.mark(&done, &Mark::Done, NOW).unwrap();
    f.store.mark(&top, &Mark::Skipped { reason: Some("later".into()) }, NOW).unwrap();
    assert_eq!((f.status(&done), f.status(&open)), (Status::Done, Status::Skipped));
    f.store.mark(&top, &Mark::Pending, NOW).unwrap();
    assert_eq!((f.status(&done), f.status(&open)), (Status::Done, Status::Pending));
}

#[test]
fn deleting_frees_who_waited_and_refuses_parents() {
    let mut f = Fixture::new();
    let a = f.task("a", &[]);
    let b = f.task("b", &[&a]);
    let child = f.child("child", &a);
    let refused = f.store.delete_task(&a, Children::Refuse, NOW);
    assert!(
        matches!(refused, Err(StoreError::HasChildren { children, .. }) if children == [child.to_string()])
    );
    let deleted = f.store.delete_task(&a, Children::Delete, NOW).unwrap();
    assert_eq!(deleted.tasks, [child, a]);
    assert_eq!(deleted.freed, std::slice::from_ref(&b));
    assert_eq!(f.claim().unwrap().0.task.id, b);
}

#[test]
fn a_parent_marked_done_needs_its_open_parts_no_more() {
    let mut f = Fixture::new();
    let top = f.task("top", &[]);
    let open = f.child("open", &top);
    f.store.mark(&top, &Mark::Done, NOW).unwrap();
    assert_eq!((f.status(&top), f.status(&open)), (Status::Done, Status::Skipped));
}

#[test]
fn a_parent_that_waited_only_for_a_dependency_is_done_without_it() {
    let mut f = Fixture::new();
    let other = f.task("other", &[]);
    let parent = f.task("parent", &[&other]);
    let child = f.child("child", &parent);
    f.store.mark(&child, &Mark::Done, NOW).unwrap();
    assert_eq!(f.status(&parent), Status::Pending);
    assert!(f.store.remove_dependency(&parent, &other, NOW).unwrap());
    assert_eq!(f.status(&parent), Status::Done);
}
