//! What nearly repeats an active learning.

use super::*;
use crate::store::sql::Statements;

#[test]
fn life_02_a_near_repeat_is_joined_at_capture() {
    let mut f = Fixture::new();
    f.task("a", &[]);
    f.task("b", &[]);
    f.task("c", &[]);
    let old = f.learn(LONG, &["cache"]);
    f.attempt(&[&old], Outcome::Done, true);
    f.attempt_with(&[], |capture| {
        capture.learnings = vec![insight(&format!("{LONG}!"), &["Cache", "slow tests"])];
    });
    let active = f.active();
    assert_eq!(active.len(), 1);
    assert_eq!(active[0].content, format!("{LONG}!"), "the most recent words");
    assert_eq!(active[0].tags, ["Cache", "slow tests"]);
    assert_eq!(counters(&active[0]), (1, 1, 0), "the counters of both");
    assert_eq!(f.learned(&old).superseded_by.as_ref(), Some(&active[0].id));
    // The same words in another category, or too many others, stand for themselves.
    f.attempt_with(&[], |capture| {
        let other = NewLearning { category: "other".into(), ..insight(LONG, &["cache"]) };
        capture.learnings = vec![other, insight("clear the build cache before lunch", &["cache"])];
    });
    assert_eq!(f.active().len(), 3);
}

#[test]
fn life_02_repeats_within_one_answer_are_joined_too_and_odd_texts_as_well() {
    let mut f = Fixture::new();
    f.task("a", &[]);
    f.attempt_with(&[], |capture| {
        capture.learnings =
            ["it is what it is", "It is what it is.", "!!", "!!", "日本語を使う", "日本語を使う。"]
                .map(|content| insight(content, &["t"]))
                .into();
    });
    let mut contents: Vec<String> = f.active().into_iter().map(|l| l.content).collect();
    contents.sort();
    assert_eq!(contents, ["!!", "It is what it is.", "日本語を使う。"]);
    let count: i64 = f.store.conn().one("SELECT count(*) FROM learnings", []).unwrap();
    assert_eq!(count, 6, "nothing is lost");
}

#[test]
fn life_02_an_agents_repeat_does_not_replace_a_persons_words() {
    let mut f = Fixture::new();
    f.task("a", &[]);
    let mut random = f.random();
    let own = f.store.add_learning(&insight(LONG, &["cache"]), Source::Human, NOW, &mut random).unwrap();
    f.attempt_with(&[], |capture| {
        capture.learnings = vec![insight(&format!("{LONG}!"), &["cache"])];
    });
    let active = f.active();
    assert_eq!((active.len(), &active[0].id), (1, &own));
}

#[test]
fn life_02_the_case_of_words_hides_no_repetition() {
    for text in [
        "SQLite locks files",
        "Copy the DataFrame first",
        "getUsers needs parseFile",
        "macOS and NodeJS differ in their caches",
    ] {
        let mut f = Fixture::new();
        f.task("a", &[]);
        f.task("b", &[]);
        f.attempt_with(&[], |capture| capture.learnings = vec![insight(text, &["t"])]);
        f.attempt_with(&[], |capture| {
            capture.learnings = vec![insight(text, &["t"]), insight(&text.to_lowercase(), &["t"])];
        });
        assert_eq!(f.active().len(), 1, "{text}");
    }
    let mut f = Fixture::new();
    let id = f.learn("SQLite locks the whole file", &[]);
    assert_eq!(f.found("sqlite"), [id.as_str()]);
}

#[test]
fn life_02_an_answer_found_late_does_not_replace_a_newer_one() {
    let mut f = Fixture::new();
    f.task("a", &[]);
    let new = f.learn(LONG, &["t"]);
    f.attempt_with(&[], |capture| {
        capture.attempt.started_at = days_ago(3);
        capture.learnings = vec![insight(&format!("{LONG}!"), &["t"])];
    });
    let active = f.active();
    assert_eq!((active.len(), &active[0].id), (1, &new));
}
