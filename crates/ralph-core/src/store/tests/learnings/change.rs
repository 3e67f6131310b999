//! Edits, imports, and bringing back.

use super::*;
use crate::store::sql::Changes;

#[test]
fn life_06_an_import_keeps_ids_merges_nothing_and_is_all_or_nothing() {
    let mut f = Fixture::new();
    import_one(&mut f, "django-1", LONG, &["a"], 1);
    import_one(&mut f, "django-2", LONG, &["a"], 1);
    assert_eq!(f.active().len(), 2);
    let one = |id: &str, content: &str| ImportedLearning {
        id: Some(LearningId::from_stored(id)),
        created_at: None,
        learning: insight(content, &[]),
    };
    let mut random = f.random();
    let clash = [one("new", "n"), one("django-1", "another text")];
    assert!(matches!(
        f.store.import_learnings(&clash, NOW, &mut random),
        Err(StoreError::LearningIdTaken(id)) if id.as_str() == "django-1"
    ));
    assert_eq!(f.active().len(), 2);
    let again = [one("new", "n"), one("django-1", LONG)];
    let done = f.store.import_learnings(&again, NOW, &mut random).unwrap();
    assert_eq!((done.added.len(), done.known.len()), (1, 1));
}

#[test]
fn only_active_learnings_can_be_archived_or_edited() {
    let mut f = Fixture::new();
    let id = f.learn("x", &[]);
    f.store.prune_learnings(std::slice::from_ref(&id), NOW).unwrap();
    let again = f.store.prune_learnings(std::slice::from_ref(&id), NOW).unwrap_err();
    assert_eq!(again.to_string(), format!("the learning {id} is pruned"));
    let mut random = f.random();
    let edit = f.store.edit_learning(&id, &LearningEdit::default(), NOW, &mut random);
    assert!(edit.is_err());
    assert!(matches!(f.store.learning("nobody"), Err(StoreError::UnknownLearning(_))));
}

#[test]
fn sch_09_what_a_deleted_learning_had_superseded_is_active_again() {
    let mut f = Fixture::new();
    let old = f.learn("the tokenizer drops commas", &[]);
    let edit = LearningEdit { content: Some("tokenizer".into()), ..LearningEdit::default() };
    let mut random = f.random();
    let new = f.store.edit_learning(&old, &edit, NOW, &mut random).unwrap();
    f.store.conn().changed("DELETE FROM learnings WHERE id = ?1", [new.as_str()]).unwrap();
    f.reopen();
    let left = f.learned(&old);
    assert_eq!((left.superseded_by, left.state), (None, LearningState::Active));
    assert_eq!(f.found("tokenizer commas"), [old.as_str()]);
}

#[test]
fn life_05_restoring_the_first_of_a_line_puts_its_last_away() {
    let mut f = Fixture::new();
    let first = f.learn("one", &[]);
    let mut last = first.clone();
    for content in ["two", "three"] {
        let edit = LearningEdit { content: Some(content.into()), ..LearningEdit::default() };
        let mut random = f.random();
        last = f.store.edit_learning(&last, &edit, NOW, &mut random).unwrap();
    }
    let done = f.store.restore_learnings(std::slice::from_ref(&first), NOW).unwrap();
    assert_eq!((done.restored, done.retired), (vec![first.clone()], vec![last]));
    let active: Vec<LearningId> = f.active().into_iter().map(|l| l.id).collect();
    assert_eq!(active, [first]);
}

#[test]
fn life_05_restoring_a_repetition_leaves_a_persons_words_in_use() {
    let mut f = Fixture::new();
    f.task("a", &[]);
    let mut random = f.random();
    let own = f.store.add_learning(&insight(LONG, &[]), Source::Human, days_ago(1), &mut random).unwrap();
    f.attempt_with(&[], |capture| capture.learnings = vec![insight(&format!("{LONG}!"), &["t"])]);
    let filter = LearningFilter { superseded_by: Some(own), ..LearningFilter::default() };
    let repetition = f.store.learnings(&filter).unwrap().remove(0).id;
    let done = f.store.restore_learnings(&[repetition], NOW).unwrap();
    assert!(done.retired.is_empty());
    assert_eq!(f.active().len(), 2);
}

#[test]
fn life_05_undoing_an_edit_revives_no_repetitions() {
    let mut f = Fixture::new();
    let mut random = f.random();
    let own = insight(LONG, &["t"]);
    let old = f.store.add_learning(&own, Source::Human, NOW, &mut random).unwrap();
    let edit = LearningEdit { content: Some(format!("{LONG} please")), ..LearningEdit::default() };
    f.store.edit_learning(&old, &edit, NOW, &mut random).unwrap();
    for n in 0..3 {
        f.task(&format!("task {n}"), &[]);
        f.attempt_with(&[], |capture| capture.learnings = vec![insight(LONG, &["t"])]);
    }
    assert_eq!(f.active().len(), 1);
    f.store.restore_learnings(std::slice::from_ref(&old), NOW).unwrap();
    let active = f.active();
    assert_eq!((active.len(), &active[0].id), (1, &old));
    // And what was brought back is not replaced by the next agent who says it.
    f.task("again", &[]);
    f.attempt_with(&[], |capture| capture.learnings = vec![insight(&format!("{LONG}!"), &["t"])]);
    assert_eq!(f.active()[0].id, old);
}
