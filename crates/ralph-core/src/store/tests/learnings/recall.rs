//! Finding learnings of every source.

use super::*;
use crate::store::sql::{Changes, Statements};

#[test]
fn lrn_08_a_learning_outlives_its_task_and_is_found_by_others() {
    let mut f = Fixture::new();
    let id = f.task("a", &[]);
    f.attempt_with(&[], |capture| {
        capture.learnings = vec![insight("the tokenizer drops commas", &["tokenizer"])];
    });
    f.store.delete_task(&id, Children::Refuse, NOW).unwrap();
    f.reopen();
    let all = f.active();
    assert_eq!(all.len(), 1);
    assert_eq!((&all[0].task_id, all[0].source), (&None, Source::Agent));
    assert_eq!(f.found("Tokenizer loses commas"), [all[0].id.as_str()]);
}

#[test]
fn lrn_03_what_is_archived_or_superseded_is_not_found() {
    let mut f = Fixture::new();
    let id = f.learn("the tokenizer drops commas", &["tokenizer"]);
    assert_eq!(f.found("tokenizer"), [id.as_str()]);
    f.store.prune_learnings(std::slice::from_ref(&id), NOW).unwrap();
    assert!(f.found("tokenizer").is_empty());
    f.store.restore_learnings(std::slice::from_ref(&id), NOW).unwrap();
    assert_eq!(f.found("tokenizer"), [id.as_str()]);
    let edit =
        LearningEdit { content: Some("the tokenizer keeps commas now".into()), ..LearningEdit::default() };
    let mut random = f.random();
    let new = f.store.edit_learning(&id, &edit, NOW, &mut random).unwrap();
    assert_eq!(f.found("tokenizer"), [new.as_str()]);
    assert_eq!(f.store.learning_counts().unwrap().active, 1);
}

#[test]
fn rows_that_another_program_wrote_are_found_and_those_it_removed_are_not() {
    let mut f = Fixture::new();
    f.learn("the tokenizer drops commas", &["tokenizer"]);
    f.store
        .conn()
        .execute_batch(
            "INSERT INTO learnings (id, category, content, relevance_tags, created_at)
             VALUES ('l-by-hand', 'other', 'sockets need a timeout', '[\"socket\"]', '2023-11-14T00:00:00Z');
             DELETE FROM learnings WHERE content LIKE 'the tokenizer%';",
        )
        .unwrap();
    f.reopen();
    assert_eq!(f.found("socket timeout"), ["l-by-hand"]);
    assert!(f.found("tokenizer").is_empty());
    let terms: Vec<String> = f.store.conn().all("SELECT term FROM learning_terms ORDER BY term", []).unwrap();
    assert_eq!(terms, ["need", "socket", "timeout"], "counts follow");
}

#[test]
fn odd_values_of_another_program_are_survived() {
    let mut f = Fixture::new();
    // A server refuses values of another type.
    if !f.store.is_file() {
        return;
    }
    f.store
        .conn()
        .execute_batch(
            "INSERT INTO learnings (id, category, content, relevance_tags, created_at, helpful, harmful, shown,
                 expected, pinned, last_used_at)
             VALUES ('l-odd', 'other', 'sockets need a timeout', 'no json', 'yesterday', 1.5, -3, 'many', 'x', 2.0, '');",
        )
        .unwrap();
    f.reopen();
    assert_eq!(f.found("socket timeout"), ["l-odd"]);
    let odd = &f.active()[0];
    assert_eq!(counters(odd), (0, 1, 0));
    assert!(odd.pinned && odd.tags.is_empty());
    assert_eq!(tidy(&mut f), Upkeep::default(), "it is pinned");
    f.store
        .conn()
        .execute_batch(
            "UPDATE learnings SET helpful = 1e19, shown = 9223372036854775807, judged = 9223372036854775807;
             INSERT INTO learnings (id, category, content, relevance_tags, created_at, expected)
             VALUES (x'ff00', x'ff', x'ff736f636b6574', x'ff', x'ff', 9e999);",
        )
        .unwrap();
    f.reopen();
    assert_eq!(f.active().len(), 2);
    f.task("a", &[]);
    let odd = LearningId::from_stored("l-odd");
    f.attempt_with(&[&odd], |capture| {
        capture.learnings = vec![insight("Sockets need a timeout.", &[])];
    });
}

#[test]
fn learnings_can_be_picked_by_every_property() {
    let mut f = Fixture::new();
    let task = f.task("a", &[]);
    f.attempt_with(&[], |capture| capture.learnings = vec![insight("of a task", &["Größe"])]);
    import_one(&mut f, "old", "old one", &["b"], 50);
    let count = |filter: LearningFilter| f.store.learnings(&filter).unwrap().len();
    let any = LearningFilter::default;
    assert_eq!(count(any()), 2);
    assert_eq!(count(LearningFilter { tag: Some("GRÖSSE".into()), ..any() }), 0);
    assert_eq!(count(LearningFilter { tag: Some("größe".into()), ..any() }), 1);
    assert_eq!(count(LearningFilter { task: Some(task), ..any() }), 1);
    assert_eq!(count(LearningFilter { source: Some(Source::Import), ..any() }), 1);
    assert_eq!(count(LearningFilter { since: Some(days_ago(49)), ..any() }), 1);
    assert_eq!(count(LearningFilter { before: Some(days_ago(49)), ..any() }), 1);
    assert_eq!(count(LearningFilter { category: Some("other".into()), ..any() }), 0);
    assert_eq!(count(LearningFilter { pinned: true, ..any() }), 0);
}

#[test]
fn times_of_another_program_are_understood() {
    let mut f = Fixture::new();
    for (n, time) in ["2023-01-02 03:04:05", "2023-01-02T03:04:05", "2023-01-02"].iter().enumerate() {
        f.store
            .conn()
            .changed(
                "INSERT INTO learnings (id, category, content, relevance_tags, created_at)
                 VALUES (?1, 'other', ?2, '[]', ?3)",
                [&format!("l-{n}"), &format!("socket {n}"), *time],
            )
            .unwrap();
    }
    let years: Vec<String> = f.active().iter().map(|l| l.created_at.to_string()[..10].into()).collect();
    assert_eq!(years, ["2023-01-02"; 3]);
    assert_eq!(tidy(&mut f).pruned.len(), 3, "old and unused");
}
