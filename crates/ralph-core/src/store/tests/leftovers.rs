//! Work that attempts left in the tree.

use std::collections::BTreeSet;

use super::*;
use crate::gate::{ProtectedFiles, Version};
use crate::model::LeftoverFile;
use crate::store::sql::Statements;

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

fn kept(files: &[(&str, Version)]) -> ProtectedFiles {
    ProtectedFiles(files.iter().map(|(path, version)| ((*path).to_owned(), version.clone())).collect())
}

#[test]
fn a_protected_content_is_written_once_and_every_version_comes_back() {
    let mut f = Fixture::new();
    let (a, b) = (f.task("A", &[]), f.task("B", &[]));
    let file = |text: &str| Version::File { bytes: text.into(), mode: 0o755 };
    let all = kept(&[
        ("tests/a", file("same")),
        ("tests/b", file("same")),
        ("empty", file("")),
        ("link", Version::Link("../x".into())),
        ("gone", Version::Gone),
    ]);
    let contents =
        |f: &Fixture| -> i64 { f.store.conn().one("SELECT count(*) FROM kept_contents", []).unwrap() };
    f.store.keep_protected(&a, "/w", &all).unwrap();
    f.store.keep_protected(&b, "/w", &all).unwrap();
    assert_eq!(contents(&f), 3);
    let found = f.store.orphaned_protected().unwrap();
    assert_eq!(found.iter().map(|one| &one.task).collect::<BTreeSet<_>>(), BTreeSet::from([&a, &b]));
    assert!(found.iter().all(|one| one.files == all && one.work_dir == "/w"), "{found:?}");
    // Nothing is deleted that an attempt under way may need.
    f.store.forget_protected(&a).unwrap();
    f.store.drop_kept_contents().unwrap();
    assert_eq!(contents(&f), 3);
    f.store.keep_protected(&b, "/w", &kept(&[("tests/a", file("new"))])).unwrap();
    assert_eq!(contents(&f), 4, "of {:?}", f.store.orphaned_protected());
    f.store.forget_protected(&b).unwrap();
    assert_eq!(f.store.orphaned_protected().unwrap(), []);
    f.store.drop_kept_contents().unwrap();
    assert_eq!(contents(&f), 0);
}
