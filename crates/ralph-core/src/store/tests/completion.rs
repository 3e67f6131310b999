//! Names by how they begin, on a real file.

use proptest::prelude::*;

use super::Fixture;
use crate::model::{Key, NewTask};
use crate::store::Named;

fn keyed(fixture: &mut Fixture, key: &str) {
    let new =
        NewTask { title: format!("Task {key}"), key: Some(Key::from_stored(key)), ..NewTask::default() };
    fixture.add(new).unwrap();
}

fn only(names: Vec<Named>) -> Vec<String> {
    names.into_iter().map(|named| named.name).collect()
}

#[test]
fn keys_and_ids_are_found_by_how_they_begin() {
    let mut fixture = Fixture::new();
    for key in ["2.1", "1.10", "1.1", "ü/1", "t-x"] {
        keyed(&mut fixture, key);
    }
    let plain = fixture.task("No key", &[]);
    let store = &fixture.store;
    let all = only(store.task_names("", 10).unwrap());
    assert_eq!(all, ["2.1", "1.10", "1.1", "ü/1", "t-x", plain.as_str()]);
    assert_eq!(only(store.task_names("1.", 10).unwrap()), ["1.1", "1.10"]);
    assert_eq!(only(store.task_names("ü", 10).unwrap()), ["ü/1"]);
    let ids = only(store.task_names("t-", 10).unwrap());
    assert_eq!(ids.len(), 7, "a key and the ids of all: {ids:?}");
    assert!(store.task_names("3", 10).unwrap().is_empty());
    assert_eq!(store.task_names("2", 10).unwrap(), [Named { name: "2.1".into(), about: "Task 2.1".into() }]);
}

#[test]
fn of_many_the_first_and_the_last_are_there() {
    let mut fixture = Fixture::new();
    for n in 100..200 {
        keyed(&mut fixture, &format!("1.{n}"));
    }
    keyed(&mut fixture, "0");
    keyed(&mut fixture, "19");
    let some = only(fixture.store.task_names("1", 5).unwrap());
    assert_eq!(some, ["1.100", "1.101", "1.102", "1.103", "1.104", "19"]);
    let some = only(fixture.store.task_names("", 2).unwrap());
    assert_eq!(some, ["1.100", "1.101", "0", "19"]);
}

#[test]
fn learnings_and_runs_have_names_too() {
    let mut fixture = Fixture::new();
    fixture
        .store
        .conn()
        .execute_batch(
            "INSERT INTO learnings (id, category, content, relevance_tags, created_at)
             VALUES ('l-1', 'c', 'old\u{1b}[2J one', '[]', '2026-01-01'), ('l-2', 'c', 'new', '[]', '2026-01-02'),
                    ('x-3', 'c', 'other', '[]', '2025-01-01');",
        )
        .unwrap();
    fixture.start_run("r-7");
    let store = &fixture.store;
    assert_eq!(only(store.learning_names("", 9).unwrap()), ["l-2", "l-1", "x-3"]);
    let found = store.learning_names("l-1", 9).unwrap();
    assert_eq!(found[0].about, "old one");
    assert_eq!(only(store.run_names("r-", 9).unwrap()), ["r-7"]);
    assert!(store.run_names("r-8", 9).unwrap().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Whatever is asked for: no more than a few, all begin so, and all of them begin with what the whole plan does.
    #[test]
    fn what_an_answer_begins_with_the_plan_begins_with(
        keys in proptest::collection::btree_set("[ab.]{1,4}", 1..30), prefix in "[ab.]{0,2}", most in 1_usize..6,
    ) {
        let mut fixture = Fixture::new();
        for key in &keys {
            keyed(&mut fixture, key);
        }
        let answer = only(fixture.store.task_names(&prefix, most).unwrap());
        prop_assert!(answer.len() <= 2 * most + 4);
        let whole: Vec<String> = keys.iter().filter(|key| key.starts_with(&prefix)).cloned().collect();
        prop_assert!(answer.iter().all(|name| whole.contains(name)), "{:?} of {:?}", answer, whole);
        prop_assert_eq!(common(&answer), common(&whole));
    }
}

fn common(names: &[String]) -> Option<String> {
    let first = names.first()?;
    let shared = (0..=first.len())
        .rev()
        .find(|n| first.get(..*n).is_some_and(|start| names.iter().all(|name| name.starts_with(start))))?;
    first.get(..shared).map(str::to_owned)
}
