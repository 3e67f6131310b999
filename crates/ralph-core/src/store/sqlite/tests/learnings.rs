//! Learnings: found, credited, joined, put away, brought back.

use super::{Fixture, NOW, outcome};
use crate::engine::{Upkeep, merge_all, recall};
use crate::model::{
    Learning, LearningId, LearningState, NewLearning, Outcome, Source, TaskId, Timestamp,
};
use crate::recall::upkeep::UpkeepPolicy;
use crate::recall::{RecallPolicy, RecallQuery};
use crate::store::sqlite::SqliteStore;
use crate::store::{
    Capture, Children, HistoryStore, ImportedLearning, LearningEdit, LearningFilter, LearningStore,
    PlanStore, StoreError, TaskNext,
};

const DAY: i64 = 86_400_000;

fn days_ago(days: i64) -> Timestamp {
    Timestamp::from_millis(NOW.as_millis() - days * DAY)
}

fn insight(content: &str, tags: &[&str]) -> NewLearning {
    NewLearning {
        category: "pitfall".into(),
        title: None,
        content: content.into(),
        tags: tags.iter().map(|tag| (*tag).into()).collect(),
    }
}

impl Fixture {
    fn random(&mut self) -> impl FnMut() -> u64 + use<> {
        self.counter += 1000;
        let mut next = self.counter;
        move || {
            next += 1;
            next
        }
    }

    fn learn(&mut self, content: &str, tags: &[&str]) -> LearningId {
        let mut random = self.random();
        self.store
            .add_learning(&insight(content, tags), Source::Agent, NOW, &mut random)
            .unwrap()
    }

    fn learnt(&self, id: &LearningId) -> Learning {
        self.store.learning(id.as_str()).unwrap()
    }

    fn found(&self, text: &str) -> Vec<String> {
        let query = RecallQuery {
            title: text.into(),
            ..RecallQuery::default()
        };
        let found = recall(&self.store, &query, NOW, None, &RecallPolicy::default()).unwrap();
        found
            .chosen()
            .map(|(_, learning)| learning.id.clone())
            .collect()
    }

    /// One try on the next task that was shown these learnings.
    fn attempt(&mut self, shown: &[&LearningId], end: Outcome, counted: bool) -> TaskId {
        let next = if end == Outcome::Done {
            TaskNext::Done
        } else {
            TaskNext::Pending
        };
        self.attempt_with(shown, |capture| {
            capture.outcome = end;
            capture.counted = counted;
            capture.next = next;
        })
    }

    fn attempt_with(&mut self, shown: &[&LearningId], set: impl FnOnce(&mut Capture)) -> TaskId {
        let (claimed, token) = self.claim().unwrap();
        let mut capture = outcome(&claimed, &token, Outcome::Done, TaskNext::Done);
        capture.start.learnings = shown.iter().map(|id| (*id).clone()).collect();
        set(&mut capture);
        self.capture(&capture).unwrap();
        claimed.task.id
    }

    fn active(&self) -> Vec<Learning> {
        let filter = LearningFilter {
            state: Some(LearningState::Active),
            ..LearningFilter::default()
        };
        self.store.learnings(&filter).unwrap()
    }
}

/// `shown, helpful, harmful` of a learning.
fn counters(learning: &Learning) -> (u64, u64, u64) {
    (
        learning.shown,
        learning.record.helpful,
        learning.record.harmful,
    )
}

#[test]
fn lrn_08_a_learning_outlives_its_task_and_is_found_by_others() {
    let mut f = Fixture::new();
    let id = f.task("a", &[]);
    f.attempt_with(&[], |capture| {
        capture.learnings = vec![insight("the tokenizer drops commas", &["tokenizer"])];
    });
    f.store.delete_task(&id, Children::Refuse, NOW).unwrap();
    let path = f.dir.path().join("progress.db");
    f.store = SqliteStore::open(&path).unwrap();
    let all = f.active();
    assert_eq!(all.len(), 1);
    assert_eq!((&all[0].task_id, all[0].source), (&None, Source::Agent));
    assert_eq!(f.found("Tokenizer loses commas"), [all[0].id.as_str()]);
}

#[test]
fn lrn_03_what_is_put_away_or_superseded_is_not_found() {
    let mut f = Fixture::new();
    let id = f.learn("the tokenizer drops commas", &["tokenizer"]);
    assert_eq!(f.found("tokenizer"), [id.as_str()]);
    f.store
        .prune_learnings(std::slice::from_ref(&id), NOW)
        .unwrap();
    assert!(f.found("tokenizer").is_empty());
    f.store
        .restore_learnings(std::slice::from_ref(&id), NOW)
        .unwrap();
    assert_eq!(f.found("tokenizer"), [id.as_str()]);
    let edit = LearningEdit {
        content: Some("the tokenizer keeps commas now".into()),
        ..LearningEdit::default()
    };
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
        .conn
        .execute_batch(
            "INSERT INTO learnings (id, category, content, relevance_tags, created_at)
             VALUES ('l-by-hand', 'other', 'sockets need a timeout', '[\"socket\"]', '2023-11-14T00:00:00Z');
             DELETE FROM learnings WHERE content LIKE 'the tokenizer%';",
        )
        .unwrap();
    let path = f.dir.path().join("progress.db");
    f.store = SqliteStore::open(&path).unwrap();
    assert_eq!(f.found("socket timeout"), ["l-by-hand"]);
    assert!(f.found("tokenizer").is_empty());
    let terms: Vec<String> = f
        .store
        .conn
        .prepare("SELECT term FROM learning_terms ORDER BY term")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(terms, ["need", "socket", "timeout"], "counts follow");
}

#[test]
fn odd_values_of_another_program_are_survived() {
    let mut f = Fixture::new();
    f.store
        .conn
        .execute_batch(
            "INSERT INTO learnings (id, category, content, relevance_tags, created_at, helpful, harmful, shown,
                 expected, pinned, last_used_at)
             VALUES ('l-odd', 'other', 'sockets need a timeout', 'no json', 'yesterday', 1.5, -3, 'many', 'x', 2.0, '');",
        )
        .unwrap();
    let path = f.dir.path().join("progress.db");
    f.store = SqliteStore::open(&path).unwrap();
    assert_eq!(f.found("socket timeout"), ["l-odd"]);
    let odd = &f.active()[0];
    assert_eq!(counters(odd), (0, 1, 0));
    assert!(odd.pinned && odd.tags.is_empty());
    assert_eq!(tidy(&mut f), Upkeep::default(), "it is pinned");
}

#[test]
fn life_01_what_was_shown_is_recorded_and_credited_by_the_attempts_end() {
    let mut f = Fixture::new();
    let learning = f.learn("x", &[]);
    let first = f.task("a", &[]);
    f.task("b", &[]);
    f.attempt(&[&learning], Outcome::Done, true);
    let after = f.learnt(&learning);
    assert_eq!(counters(&after), (1, 1, 0));
    assert!(after.last_used_at.is_some());
    f.attempt(&[&learning], Outcome::Failed, true);
    assert_eq!(counters(&f.learnt(&learning)), (2, 1, 1));
    let shown = &f.store.history(Some(&first)).unwrap()[0]
        .detail
        .learnings_shown;
    assert_eq!(shown, &[learning.to_string()]);
}

#[test]
fn life_01_uncounted_tries_show_but_do_not_judge() {
    let mut f = Fixture::new();
    let learning = f.learn("x", &[]);
    f.task("a", &[]);
    f.attempt(&[&learning], Outcome::Error, false);
    assert_eq!(counters(&f.learnt(&learning)), (1, 0, 0));
}

#[test]
fn life_01_a_task_judges_once_and_its_latest_word_stands() {
    let mut f = Fixture::new();
    let learning = f.learn("x", &[]);
    f.task("a", &[]);
    for _ in 0..4 {
        f.attempt(&[&learning], Outcome::Failed, true);
    }
    let hard = f.learnt(&learning);
    assert_eq!(counters(&hard), (4, 0, 1), "one hard task is one voice");
    assert!(
        hard.record.expected < 0.4,
        "after three failures little is expected: {}",
        hard.record.expected
    );
    f.attempt(&[&learning], Outcome::Done, true);
    assert_eq!(counters(&f.learnt(&learning)), (5, 1, 0));
    assert_eq!(f.learnt(&learning).record.judged, 1);
}

#[test]
fn life_01_credit_goes_to_what_has_taken_a_learnings_place() {
    let mut f = Fixture::new();
    let old = f.learn("x", &[]);
    f.task("a", &[]);
    let (claimed, token) = f.claim().unwrap();
    let edit = LearningEdit {
        content: Some("y".into()),
        ..LearningEdit::default()
    };
    let mut random = f.random();
    let new = f
        .store
        .edit_learning(&old, &edit, NOW, &mut random)
        .unwrap();
    let mut capture = outcome(&claimed, &token, Outcome::Done, TaskNext::Done);
    capture.start.learnings = vec![old.clone(), LearningId::from_stored("l-gone")];
    f.capture(&capture).unwrap();
    assert_eq!(counters(&f.learnt(&new)), (1, 1, 0));
    assert_eq!(counters(&f.learnt(&old)), (0, 0, 0));
}

const LONG: &str = "clear the build cache before each of the slow tests runs again";

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
    assert_eq!(
        active[0].content,
        format!("{LONG}!"),
        "the most recent words"
    );
    assert_eq!(active[0].tags, ["Cache", "slow tests"]);
    assert_eq!(counters(&active[0]), (1, 1, 0), "the counters of both");
    assert_eq!(f.learnt(&old).superseded_by.as_ref(), Some(&active[0].id));
    // The same words in another category, or too many others, stand for themselves.
    f.attempt_with(&[], |capture| {
        let other = NewLearning {
            category: "other".into(),
            ..insight(LONG, &["cache"])
        };
        capture.learnings = vec![
            other,
            insight("clear the build cache before lunch", &["cache"]),
        ];
    });
    assert_eq!(f.active().len(), 3);
}

#[test]
fn life_02_repeats_within_one_answer_are_joined_too_and_odd_texts_as_well() {
    let mut f = Fixture::new();
    f.task("a", &[]);
    f.attempt_with(&[], |capture| {
        capture.learnings = [
            "it is what it is",
            "It is what it is.",
            "!!",
            "!!",
            "日本語を使う",
            "日本語を使う。",
        ]
        .map(|content| insight(content, &["t"]))
        .into();
    });
    let mut contents: Vec<String> = f.active().into_iter().map(|l| l.content).collect();
    contents.sort();
    assert_eq!(contents, ["!!", "It is what it is.", "日本語を使う。"]);
    let count: i64 = f
        .store
        .conn
        .query_row("SELECT count(*) FROM learnings", [], |row| row.get(0))
        .unwrap();
    assert_eq!(count, 6, "nothing is lost");
}

#[test]
fn life_02_an_agents_repeat_does_not_replace_a_persons_words() {
    let mut f = Fixture::new();
    f.task("a", &[]);
    let mut random = f.random();
    let own = f
        .store
        .add_learning(&insight(LONG, &["cache"]), Source::Human, NOW, &mut random)
        .unwrap();
    f.attempt_with(&[], |capture| {
        capture.learnings = vec![insight(&format!("{LONG}!"), &["cache"])];
    });
    let active = f.active();
    assert_eq!((active.len(), &active[0].id), (1, &own));
}

/// So many learnings that say different things.
fn import_distinct(f: &mut Fixture, count: usize) {
    let all: Vec<ImportedLearning> = (0..count)
        .map(|n| ImportedLearning {
            id: None,
            created_at: None,
            learning: insight(&format!("unlike{n} words{n} of{n} its{n} own{n}"), &["t"]),
        })
        .collect();
    let mut random = f.random();
    f.store.import_learnings(&all, NOW, &mut random).unwrap();
}

fn import_one(f: &mut Fixture, id: &str, content: &str, tags: &[&str], days: i64) -> LearningId {
    let id = LearningId::from_stored(id);
    let one = ImportedLearning {
        id: Some(id.clone()),
        created_at: Some(days_ago(days)),
        learning: insight(content, tags),
    };
    let mut random = f.random();
    f.store.import_learnings(&[one], NOW, &mut random).unwrap();
    id
}

fn tidy(f: &mut Fixture) -> Upkeep {
    let mut random = f.random();
    Upkeep::run(&mut f.store, &UpkeepPolicy::default(), NOW, &mut random).unwrap()
}

#[test]
fn life_03_above_200_near_duplicates_are_merged_and_restore_undoes_it() {
    let mut f = Fixture::new();
    import_distinct(&mut f, 198);
    let a = import_one(&mut f, "first", LONG, &["cache", "build"], 3);
    let b = import_one(
        &mut f,
        "second",
        &format!("{LONG}."),
        &["Cache", "tests"],
        2,
    );
    f.store
        .conn
        .execute_batch(
            "UPDATE learnings SET shown = 4, helpful = 3, harmful = 1 WHERE id = 'first';
             UPDATE learnings SET shown = 5, helpful = 2, harmful = 2 WHERE id = 'second';",
        )
        .unwrap();
    assert_eq!(tidy(&mut f), Upkeep::default(), "200 are not more than 200");
    import_one(&mut f, "third", "one more", &[], 1);
    let merged = tidy(&mut f).merged;
    assert_eq!(merged.len(), 1);
    assert_eq!(merged[0].from, [a.clone(), b.clone()]);
    let new = f.learnt(&merged[0].into);
    assert_eq!(new.content, LONG, "the best one's text");
    assert_eq!(new.tags, ["cache", "build", "tests"]);
    assert_eq!(counters(&new), (9, 5, 3));
    assert_eq!((new.created_at, new.source), (days_ago(2), Source::Merge));
    for old in [&a, &b] {
        assert_eq!(f.learnt(old).superseded_by.as_ref(), Some(&new.id));
    }
    assert_eq!(
        tidy(&mut f),
        Upkeep::default(),
        "nothing new, nothing to do"
    );

    let restored = f
        .store
        .restore_learnings(std::slice::from_ref(&b), NOW)
        .unwrap();
    assert_eq!(restored.restored, [b, a.clone()]);
    assert_eq!(restored.retired, std::slice::from_ref(&new.id));
    assert_eq!(f.learnt(&new.id).state, LearningState::Pruned);
    assert_eq!(f.learnt(&a).content, LONG);
    assert_eq!(f.active().len(), 201);
    import_one(&mut f, "fourth", "yet another", &[], 1);
    assert_eq!(
        tidy(&mut f),
        Upkeep::default(),
        "what a person undid stays undone"
    );
}

#[test]
fn life_04_old_and_unused_learnings_are_put_away() {
    let mut f = Fixture::new();
    let stale = import_one(&mut f, "stale", "alpha", &[], 91);
    import_one(&mut f, "used", "beta", &[], 91);
    import_one(&mut f, "young", "gamma", &[], 89);
    import_one(&mut f, "pinned", "delta", &[], 400);
    f.store
        .pin_learning(&LearningId::from_stored("pinned"), true)
        .unwrap();
    f.store
        .conn
        .execute(
            "UPDATE learnings SET last_used_at = ?1 WHERE id = 'used'",
            [days_ago(29).to_string()],
        )
        .unwrap();
    assert_eq!(tidy(&mut f).pruned, std::slice::from_ref(&stale));
    assert_eq!(f.learnt(&stale).pruned_at, Some(NOW));
    assert_eq!(f.learnt(&stale).content, "alpha");
    assert_eq!(tidy(&mut f), Upkeep::default());
    let back = f
        .store
        .restore_learnings(std::slice::from_ref(&stale), NOW)
        .unwrap();
    assert_eq!(back.restored, [stale]);
    assert_eq!(tidy(&mut f), Upkeep::default(), "just brought back");
}

#[test]
fn life_05_merging_is_deterministic() {
    let groups = |order: [usize; 4]| {
        let mut f = Fixture::new();
        let texts = [
            LONG.to_owned(),
            format!("{LONG}."),
            format!("{LONG} now"),
            "else".into(),
        ];
        for n in order {
            import_one(&mut f, &format!("l-{n}"), &texts[n], &["t"], 1);
        }
        let mut random = f.random();
        let merged = merge_all(&mut f.store, &mut random).unwrap();
        merged.into_iter().map(|m| m.from).collect::<Vec<_>>()
    };
    assert_eq!(groups([0, 1, 2, 3]), groups([3, 2, 0, 1]));
    assert_eq!(groups([0, 1, 2, 3])[0].len(), 3);
}

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
fn only_active_learnings_can_be_put_away_or_edited() {
    let mut f = Fixture::new();
    let id = f.learn("x", &[]);
    f.store
        .prune_learnings(std::slice::from_ref(&id), NOW)
        .unwrap();
    let again = f
        .store
        .prune_learnings(std::slice::from_ref(&id), NOW)
        .unwrap_err();
    assert_eq!(again.to_string(), format!("the learning {id} is pruned"));
    let mut random = f.random();
    let edit = f
        .store
        .edit_learning(&id, &LearningEdit::default(), NOW, &mut random);
    assert!(edit.is_err());
    assert!(matches!(
        f.store.learning("nobody"),
        Err(StoreError::UnknownLearning(_))
    ));
}

#[test]
fn learnings_can_be_picked_by_every_property() {
    let mut f = Fixture::new();
    let task = f.task("a", &[]);
    f.attempt_with(&[], |capture| {
        capture.learnings = vec![insight("of a task", &["Größe"])]
    });
    import_one(&mut f, "old", "old one", &["b"], 50);
    let count = |filter: LearningFilter| f.store.learnings(&filter).unwrap().len();
    let any = LearningFilter::default;
    assert_eq!(count(any()), 2);
    assert_eq!(
        count(LearningFilter {
            tag: Some("GRÖSSE".into()),
            ..any()
        }),
        0
    );
    assert_eq!(
        count(LearningFilter {
            tag: Some("größe".into()),
            ..any()
        }),
        1
    );
    assert_eq!(
        count(LearningFilter {
            task: Some(task),
            ..any()
        }),
        1
    );
    assert_eq!(
        count(LearningFilter {
            source: Some(Source::Import),
            ..any()
        }),
        1
    );
    assert_eq!(
        count(LearningFilter {
            since: Some(days_ago(49)),
            ..any()
        }),
        1
    );
    assert_eq!(
        count(LearningFilter {
            before: Some(days_ago(49)),
            ..any()
        }),
        1
    );
    assert_eq!(
        count(LearningFilter {
            category: Some("other".into()),
            ..any()
        }),
        0
    );
    assert_eq!(
        count(LearningFilter {
            pinned: true,
            ..any()
        }),
        0
    );
}

#[test]
fn sch_09_what_a_deleted_learning_had_superseded_is_active_again() {
    let mut f = Fixture::new();
    let old = f.learn("the tokenizer drops commas", &[]);
    let edit = LearningEdit {
        content: Some("tokenizer".into()),
        ..LearningEdit::default()
    };
    let mut random = f.random();
    let new = f
        .store
        .edit_learning(&old, &edit, NOW, &mut random)
        .unwrap();
    f.store
        .conn
        .execute("DELETE FROM learnings WHERE id = ?1", [new.as_str()])
        .unwrap();
    let path = f.dir.path().join("progress.db");
    f.store = SqliteStore::open(&path).unwrap();
    let left = f.learnt(&old);
    assert_eq!(
        (left.superseded_by, left.state),
        (None, LearningState::Active)
    );
    assert_eq!(f.found("tokenizer commas"), [old.as_str()]);
}

#[test]
fn life_05_restoring_the_first_of_a_line_puts_its_last_away() {
    let mut f = Fixture::new();
    let first = f.learn("one", &[]);
    let mut last = first.clone();
    for content in ["two", "three"] {
        let edit = LearningEdit {
            content: Some(content.into()),
            ..LearningEdit::default()
        };
        let mut random = f.random();
        last = f
            .store
            .edit_learning(&last, &edit, NOW, &mut random)
            .unwrap();
    }
    let done = f
        .store
        .restore_learnings(std::slice::from_ref(&first), NOW)
        .unwrap();
    assert_eq!(
        (done.restored, done.retired),
        (vec![first.clone()], vec![last])
    );
    let active: Vec<LearningId> = f.active().into_iter().map(|l| l.id).collect();
    assert_eq!(active, [first]);
}

#[test]
fn life_05_restoring_a_repetition_leaves_a_persons_words_in_use() {
    let mut f = Fixture::new();
    f.task("a", &[]);
    let mut random = f.random();
    let own = f
        .store
        .add_learning(&insight(LONG, &[]), Source::Human, days_ago(1), &mut random)
        .unwrap();
    f.attempt_with(&[], |capture| {
        capture.learnings = vec![insight(&format!("{LONG}!"), &["t"])]
    });
    let filter = LearningFilter {
        superseded_by: Some(own),
        ..LearningFilter::default()
    };
    let repetition = f.store.learnings(&filter).unwrap().remove(0).id;
    let done = f.store.restore_learnings(&[repetition], NOW).unwrap();
    assert!(done.retired.is_empty());
    assert_eq!(f.active().len(), 2);
}
