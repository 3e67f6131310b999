//! How learnings fare over time: their record of helping or hurting, near-duplicates to merge, and what is old and unused.
//! Merging and archiving are only proposed here; nothing is rewritten and nothing is lost.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::time::Duration;

use super::duplicates::groups;
use super::{Candidate, as_f64, weights};
use crate::model::{Learning, LearningState, Record, Source, Timestamp};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpkeepPolicy {
    /// With more active learnings than this, near-duplicates are merged.
    pub merge_above: u64,
    /// A learning that is older than this, and was not shown for the time below, is archived.
    pub prune_age: Duration,
    pub prune_unused: Duration,
}

impl Default for UpkeepPolicy {
    fn default() -> Self {
        Self { merge_above: 200, prune_age: DAY * 90, prune_unused: DAY * 30 }
    }
}

impl UpkeepPolicy {
    /// What was learned before this is old.
    pub fn old_before(&self, now: Timestamp) -> Timestamp {
        let age = i64::try_from(self.prune_age.as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(now.as_millis().saturating_sub(age))
    }
}

/// More tags than this are not carried over: a learning about everything is about nothing.
const MOST_TAGS: usize = 1000;

#[derive(Clone, Debug, PartialEq)]
pub struct Merge {
    /// The one whose text is kept, then the others.
    pub members: Vec<Learning>,
    /// All their tags, the best one's first, each once whatever its case.
    pub tags: Vec<String>,
}

impl Merge {
    /// A merge of these learnings, best one first.
    pub fn of(members: Vec<Learning>) -> Self {
        let tags = Self::tags_of(members.iter().map(|learning| &learning.tags));
        Self { members, tags }
    }

    /// All of several lists' tags, in order, each once whatever its case.
    pub fn tags_of<'t>(lists: impl Iterator<Item = &'t Vec<String>>) -> Vec<String> {
        let mut known = HashSet::new();
        lists.flatten().filter(|tag| known.insert(tag.to_lowercase())).take(MOST_TAGS).cloned().collect()
    }
}

/// What nearly repeats each other among active learnings. What a person brought back is left alone.
pub fn merges(learnings: Vec<Learning>) -> Vec<Merge> {
    let is_free = |l: &Learning| l.state == LearningState::Active && l.restored_at.is_none();
    let learnings = best_first(learnings.into_iter().filter(is_free).collect());
    let mut learnings: Vec<Option<Learning>> = learnings.into_iter().map(Some).collect();
    let sayings: Vec<(&str, &str)> = learnings
        .iter()
        .flatten()
        .map(|learning| (learning.category.as_str(), learning.content.as_str()))
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
pub fn best_first(mut learnings: Vec<Learning>) -> Vec<Learning> {
    learnings.sort_by(better);
    learnings
}

fn better(a: &Learning, b: &Learning) -> Ordering {
    let score = |learning: &Learning| record(&learning.record);
    b.pinned
        .cmp(&a.pinned)
        .then_with(|| b.source.is_person().cmp(&a.source.is_person()))
        .then_with(|| score(b).total_cmp(&score(a)))
        .then_with(|| b.created_at.cmp(&a.created_at))
        .then_with(|| a.id.cmp(&b.id))
}

/// Whether an active learning is to be archived: old, long unused, and nobody wants it kept.
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

/// The record from -1 (always hurt) to 1 (always helped); 0 where nothing is known or where all went as expected.
///
/// What counts is how many tasks were done against how many were to be expected: failing on a task that mostly fails
/// says little against a learning. What helped is a share of all tasks, what hurt a share of those that were expected
/// done, so that always failing tells at any rate, only later where little was expected. Imagined undecided tasks hold
/// the record near 0 until there is evidence.
pub fn record(record: &Record) -> f64 {
    let tasks = as_f64(record.tasks());
    let unjudged = as_f64(record.tasks().saturating_sub(record.judged));
    // Counters that no attempt explains were set by a file or by hand: an even chance.
    let expected = finite(record.expected).clamp(0.0, tasks - unjudged) + unjudged / 2.0;
    let difference = as_f64(record.helpful) - expected;
    let out_of = if difference < 0.0 { expected } else { tasks };
    difference / (out_of + weights::RECORD_PRIOR)
}

/// Whether the record is bad enough to show the learning no more: never a pinned one, and never before enough tasks
/// have judged it.
pub fn withheld(candidate: &Candidate) -> bool {
    !candidate.pinned
        && candidate.record.tasks() >= weights::WITHHOLD_TASKS
        && record(&candidate.record) <= weights::WITHHOLD_RECORD
}

/// What is believed of attempts before any was recorded, by the counted attempts on the task before them; the last
/// stands for all from there on. Every failure makes the next success less likely.
const BELIEFS: [f64; 4] = [0.5, 0.38, 0.25, 0.15];
/// As many attempts as the belief is worth.
const BELIEF_ATTEMPTS: f64 = 2.0;

/// Attempts of one kind: how many were recorded, and how many of them ended done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub attempts: u64,
    pub done: u64,
}

/// Which kind an attempt is, by the counted attempts on its task before it.
pub fn kind_of_attempt(tries_before: u32) -> usize {
    usize::try_from(tries_before).unwrap_or(usize::MAX).min(3)
}

/// How often attempts like this one end done.
pub fn base_rate(tries_before: u32, tally: Tally) -> f64 {
    let belief = BELIEFS.get(kind_of_attempt(tries_before)).copied().unwrap_or(0.5);
    let done = as_f64(tally.done.min(tally.attempts));
    (done + belief * BELIEF_ATTEMPTS) / (as_f64(tally.attempts) + BELIEF_ATTEMPTS)
}

fn finite(number: f64) -> f64 {
    if number.is_finite() { number } else { 0.0 }
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
    fn life_04_only_old_and_unused_learnings_are_archived() {
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

    fn judged(helpful: u64, harmful: u64, rate: f64) -> f64 {
        let judged = helpful + harmful;
        let expected = as_f64(judged) * rate;
        record(&Record { helpful, harmful, judged, expected })
    }

    #[test]
    fn lrn_09_a_hard_task_does_not_sink_good_advice() {
        assert!(judged(0, 1, 0.05) > -0.05);
        assert!(judged(0, 1, 0.9) < -0.25);
        // One success where nearly all fail is worth many failures there.
        assert!(judged(1, 9, 0.05) > 0.0);
    }

    #[test]
    fn lrn_09_what_never_helps_is_withheld_in_the_end_also_where_little_is_expected() {
        let limit = weights::WITHHOLD_RECORD;
        for (rate, tasks) in [(0.9, 5), (0.5, 5), (0.25, 5), (0.15, 8), (0.05, 25)] {
            assert!(judged(0, tasks, rate) <= limit, "{rate}");
            assert!(judged(0, tasks / 5, rate) > limit, "{rate}");
        }
    }

    #[test]
    fn lrn_09_what_goes_as_expected_says_nothing() {
        assert!(judged(8, 2, 0.8).abs() < 1e-9);
        assert!(judged(0, 0, 0.8).abs() < 1e-9);
    }

    #[test]
    fn lrn_09_counters_that_no_attempt_explains_count_at_even_chances() {
        let by_hand = Record { harmful: 5, ..Record::default() };
        assert!((record(&by_hand) - judged(0, 5, 0.5)).abs() < 1e-9);
        let odd = Record { helpful: 1, judged: 9, expected: f64::NAN, ..Record::default() };
        assert!(record(&odd).is_finite());
    }

    #[test]
    fn lrn_09_base_rates_begin_with_a_belief_and_follow_what_happens() {
        let tally = |attempts, done| Tally { attempts, done };
        assert!((base_rate(0, tally(0, 0)) - 0.5).abs() < 1e-9);
        assert!(base_rate(9, tally(0, 0)) < base_rate(1, tally(0, 0)));
        assert!(base_rate(0, tally(100, 10)) < 0.12);
        assert!(base_rate(3, tally(100, 90)) > 0.85);
        assert!(base_rate(0, tally(1, 5)) < 1.0);
    }
}
