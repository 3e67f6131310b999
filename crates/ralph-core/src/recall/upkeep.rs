//! What becomes of learnings over time: near-duplicates are merged, the old and unused are put away. Both are only
//! proposed here; nothing is rewritten and nothing is lost.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::time::Duration;

use super::groups::{Saying, groups};
use super::record::record;
use super::weights::Weights;
use crate::model::{Learning, LearningState, Source, Timestamp};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// When upkeep does something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpkeepPolicy {
    /// With more active learnings than this, near-duplicates are merged.
    pub merge_above: u64,
    /// What is older than this …
    pub prune_age: Duration,
    /// … and was not shown for this long is put away.
    pub prune_unused: Duration,
}

impl Default for UpkeepPolicy {
    fn default() -> Self {
        Self {
            merge_above: 200,
            prune_age: DAY * 90,
            prune_unused: DAY * 30,
        }
    }
}

impl UpkeepPolicy {
    /// What was learnt before this is old.
    #[must_use]
    pub fn old_before(&self, now: Timestamp) -> Timestamp {
        let age = i64::try_from(self.prune_age.as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(now.as_millis().saturating_sub(age))
    }
}

/// More tags than this are not carried over: a learning about everything is about nothing.
const MOST_TAGS: usize = 1000;

/// Learnings to be joined into one.
#[derive(Clone, Debug, PartialEq)]
pub struct Merge {
    /// The one whose text is kept, then the others.
    pub members: Vec<Learning>,
    /// All their tags, the best one's first, each once whatever its case.
    pub tags: Vec<String>,
}

impl Merge {
    /// A merge of these learnings, best one first.
    #[must_use]
    pub fn of(members: Vec<Learning>) -> Self {
        let tags = Self::tags_of(members.iter().map(|learning| &learning.tags));
        Self { members, tags }
    }

    /// All of several lists' tags, in order, each once whatever its case.
    #[must_use]
    pub fn tags_of<'t>(lists: impl Iterator<Item = &'t Vec<String>>) -> Vec<String> {
        let mut known = HashSet::new();
        lists
            .flatten()
            .filter(|tag| known.insert(tag.to_lowercase()))
            .take(MOST_TAGS)
            .cloned()
            .collect()
    }
}

/// What nearly repeats each other among active learnings. What a person brought back is left alone.
#[must_use]
pub fn merges(learnings: Vec<Learning>) -> Vec<Merge> {
    let mut learnings: Vec<Option<Learning>> = best_first(
        learnings
            .into_iter()
            .filter(|l| l.state == LearningState::Active && l.restored_at.is_none())
            .collect(),
    )
    .into_iter()
    .map(Some)
    .collect();
    let sayings: Vec<Saying<'_>> = learnings
        .iter()
        .flatten()
        .map(|learning| Saying {
            category: &learning.category,
            content: &learning.content,
        })
        .collect();
    groups(&sayings)
        .into_iter()
        .map(|places| {
            let take = |place: usize| learnings.get_mut(place).and_then(Option::take);
            Merge::of(places.into_iter().filter_map(take).collect())
        })
        .collect()
}

/// Pinned ones first, then what people wrote, then by record, then the newer.
#[must_use]
pub fn best_first(mut learnings: Vec<Learning>) -> Vec<Learning> {
    learnings.sort_by(better);
    learnings
}

fn better(a: &Learning, b: &Learning) -> Ordering {
    let score = |learning: &Learning| record(&learning.record, &Weights::TUNED);
    b.pinned
        .cmp(&a.pinned)
        .then_with(|| b.source.is_person().cmp(&a.source.is_person()))
        .then_with(|| score(b).total_cmp(&score(a)))
        .then_with(|| b.created_at.cmp(&a.created_at))
        .then_with(|| a.id.cmp(&b.id))
}

/// Whether an active learning is to be put away: old, long unused, and nobody wants it kept.
#[must_use]
pub fn is_stale(learning: &Learning, now: Timestamp, policy: &UpkeepPolicy) -> bool {
    let last_use = [learning.last_used_at, learning.restored_at]
        .into_iter()
        .flatten()
        .fold(learning.created_at, Timestamp::max);
    learning.state == LearningState::Active
        && !learning.pinned
        // A bullet in a file that a person keeps: the person takes it out.
        && learning.source != Source::AgentsMd
        && now.since(learning.created_at) > policy.prune_age
        && now.since(last_use) > policy.prune_unused
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{LearningId, Record};

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn days_ago(days: i64) -> Timestamp {
        Timestamp::from_millis(NOW.as_millis() - days * 86_400_000)
    }

    fn learning(id: &str, content: &str, days: i64) -> Learning {
        Learning {
            id: LearningId::from_stored(id),
            category: "pitfall".into(),
            title: None,
            content: content.into(),
            tags: vec![id.into(), "Cache".into()],
            created_at: days_ago(days),
            state: LearningState::Active,
            task_id: None,
            task_key: None,
            source: Source::Agent,
            pinned: false,
            shown: 0,
            last_used_at: None,
            record: Record::default(),
            pruned_at: None,
            superseded_by: None,
            repeats: false,
            restored_at: None,
        }
    }

    #[test]
    fn life_04_only_old_and_unused_learnings_are_put_away() {
        let policy = UpkeepPolicy::default();
        let stale = |learning: &Learning| is_stale(learning, NOW, &policy);
        let mut old = learning("a", "x", 91);
        assert!(stale(&old), "never used counts from its birth");
        old.last_used_at = Some(days_ago(29));
        assert!(!stale(&old), "old, but used");
        old.last_used_at = Some(days_ago(31));
        assert!(stale(&old));
        let mut young = learning("b", "x", 89);
        young.last_used_at = Some(days_ago(80));
        assert!(!stale(&young), "unused, but not old");
        assert!(!stale(&learning("c", "x", 90)), "not older than 90 days");
        old.pinned = true;
        assert!(!stale(&old), "pinned");
        old.pinned = false;
        old.restored_at = Some(days_ago(2));
        assert!(!stale(&old), "just brought back");
        old.restored_at = Some(days_ago(40));
        assert!(stale(&old));
    }

    #[test]
    fn life_03_the_best_ones_text_and_all_tags_are_kept() {
        let text = "clear the cache before each of the slow tests runs";
        let mut good = learning("good", text, 9);
        good.record.helpful = 3;
        let newer = learning("newer", &format!("{text}!"), 1);
        let other = learning("other", "something else altogether", 1);
        let found = merges(vec![newer.clone(), other, good.clone()]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].members, [good, newer]);
        assert_eq!(found[0].tags, ["good", "Cache", "newer"]);
    }

    #[test]
    fn life_05_what_was_brought_back_is_not_merged_again() {
        let mut back = learning("back", "the same words", 1);
        back.restored_at = Some(NOW);
        assert!(merges(vec![back, learning("other", "the same words", 1)]).is_empty());
    }
}
