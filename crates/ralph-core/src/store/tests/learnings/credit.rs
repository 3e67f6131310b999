//! What was shown, and what came of it.

use super::*;
use crate::store::sql::Statements;

#[test]
fn life_01_what_was_shown_is_recorded_and_credited_by_the_attempts_end() {
    let mut f = Fixture::new();
    let learning = f.learn("x", &[]);
    let first = f.task("a", &[]);
    f.task("b", &[]);
    f.attempt(&[&learning], Outcome::Done, true);
    let after = f.learned(&learning);
    assert_eq!(counters(&after), (1, 1, 0));
    assert!(after.last_used_at.is_some());
    f.attempt(&[&learning], Outcome::Failed, true);
    assert_eq!(counters(&f.learned(&learning)), (2, 1, 1));
    let shown = &f.store.history(Some(&first)).unwrap()[0].learnings_shown;
    assert_eq!(shown, &[learning.to_string()]);
}

#[test]
fn life_01_uncounted_tries_show_but_do_not_judge() {
    let mut f = Fixture::new();
    let learning = f.learn("x", &[]);
    f.task("a", &[]);
    f.attempt(&[&learning], Outcome::Error, false);
    assert_eq!(counters(&f.learned(&learning)), (1, 0, 0));
}

#[test]
fn life_01_a_task_judges_once_and_its_latest_word_stands() {
    let mut f = Fixture::new();
    let learning = f.learn("x", &[]);
    f.task("a", &[]);
    for _ in 0..4 {
        f.attempt(&[&learning], Outcome::Failed, true);
    }
    let hard = f.learned(&learning);
    assert_eq!(counters(&hard), (4, 0, 1), "one hard task is one voice");
    assert!(hard.record.expected < 0.4, "after three failures little is expected: {}", hard.record.expected);
    f.attempt(&[&learning], Outcome::Done, true);
    assert_eq!(counters(&f.learned(&learning)), (5, 1, 0));
    assert_eq!(f.learned(&learning).record.judged, 1);
}

#[test]
fn life_01_credit_goes_to_what_has_taken_a_learnings_place() {
    let mut f = Fixture::new();
    let old = f.learn("x", &[]);
    f.task("a", &[]);
    let (claimed, token) = f.claim().unwrap();
    let edit = LearningEdit { content: Some("y".into()), ..LearningEdit::default() };
    let mut random = f.random();
    let new = f.store.edit_learning(&old, &edit, NOW, &mut random).unwrap();
    let mut capture = outcome(&claimed, &token, Outcome::Done, TaskNext::Done);
    capture.attempt.learnings_shown = vec![old.to_string(), "l-gone".to_owned()];
    f.capture(&capture).unwrap();
    assert_eq!(counters(&f.learned(&new)), (1, 1, 0));
    assert_eq!(counters(&f.learned(&old)), (0, 0, 0));
}

#[test]
fn a_parents_own_gate_says_nothing_about_agents() {
    let mut f = Fixture::new();
    f.task("a", &[]);
    f.attempt_with(&[], |capture| {
        capture.own_work = true;
        capture.attempt.outcome = Outcome::Failed;
        capture.next = TaskNext::Pending;
    });
    let rates: String = f.store.conn().one("SELECT base_rates FROM totals", []).unwrap();
    assert_eq!(rates, "[[0,0],[0,0],[0,0],[0,0]]");
}
