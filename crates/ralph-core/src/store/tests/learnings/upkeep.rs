//! Merging and pruning.

use super::*;
use crate::store::sql::Changes;

#[test]
fn life_03_above_200_near_duplicates_are_merged_and_restore_undoes_it() {
    let mut f = Fixture::new();
    import_distinct(&mut f, 198);
    let a = import_one(&mut f, "first", LONG, &["cache", "build"], 3);
    let b = import_one(&mut f, "second", &format!("{LONG}."), &["Cache", "tests"], 2);
    f.store
        .conn()
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
    let new = f.learned(&merged[0].into);
    assert_eq!(new.content, LONG, "the best one's text");
    assert_eq!(new.tags, ["cache", "build", "tests"]);
    assert_eq!(counters(&new), (9, 5, 3));
    assert_eq!((new.created_at, new.source), (days_ago(2), Source::Merge));
    for old in [&a, &b] {
        assert_eq!(f.learned(old).superseded_by.as_ref(), Some(&new.id));
    }
    assert_eq!(tidy(&mut f), Upkeep::default(), "nothing new, nothing to do");

    let restored = f.store.restore_learnings(std::slice::from_ref(&b), NOW).unwrap();
    assert_eq!(restored.restored, [b, a.clone()]);
    assert_eq!(restored.retired, std::slice::from_ref(&new.id));
    assert_eq!(f.learned(&new.id).state, LearningState::Pruned);
    assert_eq!(f.learned(&a).content, LONG);
    assert_eq!(f.active().len(), 201);
    import_one(&mut f, "fourth", "yet another", &[], 1);
    assert_eq!(tidy(&mut f), Upkeep::default(), "what a person undid stays undone");
}

#[test]
fn life_04_old_and_unused_learnings_are_archived() {
    let mut f = Fixture::new();
    let stale = import_one(&mut f, "stale", "alpha", &[], 91);
    import_one(&mut f, "used", "beta", &[], 91);
    import_one(&mut f, "young", "gamma", &[], 89);
    import_one(&mut f, "pinned", "delta", &[], 400);
    f.store.pin_learning(&LearningId::from_stored("pinned"), true).unwrap();
    f.store
        .conn()
        .changed("UPDATE learnings SET last_used_at = ?1 WHERE id = 'used'", [days_ago(29).to_string()])
        .unwrap();
    assert_eq!(tidy(&mut f).pruned, std::slice::from_ref(&stale));
    assert_eq!(f.learned(&stale).pruned_at, Some(NOW));
    assert_eq!(f.learned(&stale).content, "alpha");
    assert_eq!(tidy(&mut f), Upkeep::default());
    let back = f.store.restore_learnings(std::slice::from_ref(&stale), NOW).unwrap();
    assert_eq!(back.restored, [stale]);
    assert_eq!(tidy(&mut f), Upkeep::default(), "just brought back");
}

#[test]
fn life_05_merging_is_deterministic() {
    let groups = |order: [usize; 4]| {
        let mut f = Fixture::new();
        let texts = [LONG.to_owned(), format!("{LONG}."), format!("{LONG} now"), "else".into()];
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
fn life_03_a_merge_keeps_a_persons_words() {
    let mut f = Fixture::new();
    let mut random = f.random();
    let own = insight(LONG, &["t"]);
    f.store.add_learning(&own, Source::Human, days_ago(9), &mut random).unwrap();
    let agents = f.learn(&format!("{LONG}!"), &["t"]);
    f.store.conn().changed("UPDATE learnings SET helpful = 9 WHERE id = ?1", [agents.as_str()]).unwrap();
    merge_all(&mut f.store, &mut random).unwrap();
    let active = f.active();
    assert_eq!((active.len(), active[0].content.as_str()), (1, LONG));
    assert_eq!((active[0].source, active[0].record.helpful), (Source::Human, 9));
}

#[test]
fn life_03_few_new_ones_are_compared_with_all_that_were_there() {
    let mut f = Fixture::new();
    import_distinct(&mut f, 300);
    let old = import_one(&mut f, "old", LONG, &["t"], 3);
    assert_eq!(tidy(&mut f), Upkeep::default());
    assert_eq!(f.store.learning_counts().unwrap().unmerged, 0);
    let new = import_one(&mut f, "new", &format!("{LONG}!"), &["t"], 1);
    let merged = tidy(&mut f).merged;
    assert_eq!(merged.len(), 1);
    assert_eq!(merged[0].from, [new, old]);
}
