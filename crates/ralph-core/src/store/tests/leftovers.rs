//! Work that attempts left in the tree.

use super::*;
use crate::model::LeftoverFile;

fn file(path: &str) -> LeftoverFile {
    LeftoverFile { path: path.into(), state: "{}".into() }
}

#[test]
fn what_was_left_stands_until_something_else_is_and_the_look_goes_with_it() {
    let mut f = Fixture::new();
    let task = f.task("A", &[]);
    f.store.set_tree_snapshot(&task, "look", Some("main")).unwrap();
    let looks = f.store.tree_snapshots().unwrap();
    assert_eq!(looks[0].branch.as_deref(), Some("main"));
    assert_eq!((looks[0].snapshot.as_str(), looks[0].ended_at), ("look", None));

    f.store.set_leftovers(&task, &[file("a"), file("b")]).unwrap();
    assert!(f.store.tree_snapshots().unwrap().is_empty());
    f.store.set_leftovers(&task, &[file("b")]).unwrap();
    assert_eq!(f.store.leftovers().unwrap(), [(task.clone(), file("b"))]);
    f.store.set_leftovers(&task, &[]).unwrap();
    assert!(f.store.leftovers().unwrap().is_empty());
}

#[test]
fn a_look_of_an_attempt_that_is_under_way_is_not_cut_off() {
    let mut f = Fixture::new();
    let task = f.task("A", &[]);
    f.start_run("r-1");
    f.claim().unwrap();
    f.store.set_tree_snapshot(&task, "look", None).unwrap();
    assert!(f.store.tree_snapshots().unwrap().is_empty());
}
