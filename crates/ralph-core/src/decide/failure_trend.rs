//! What a row of failures says: whether a task makes progress or is stuck, how far up the ladder it has got, and what the
//! agent of a stuck task is told.

use super::Policy;
use crate::diagnose::{Relation, relation};
use crate::model::ChosenBy;
use crate::text::{first_sentence, one_line};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct FailedAttempt {
    pub model: String,
    /// What kind of failure it was: equal means the same again.
    pub coarse: Option<String>,
    /// The same with exception and message.
    pub fine: Option<String>,
    /// The tests that failed, sorted; empty where none are named.
    pub failing: Vec<String>,
    /// Whether git saw any change; unknown without a repository.
    pub changed: Option<bool>,
    pub committed: bool,
    pub cost_usd: Option<f64>,
    /// The fingerprints come from what the agent said: the same words mean the same failure, other words mean nothing.
    pub prose: bool,
    pub chosen_by: ChosenBy,
}

/// Something that the failures show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sign {
    /// The last two failed the same way, to the message.
    SameFailure,
    /// The last two changed nothing.
    NoChange,
    /// Two failures take turns: A, B, A, B.
    Alternating,
    /// The last one failed another way than the one before, or the same place failed with another message.
    NewError,
    /// Fewer tests fail than before, and no other ones.
    FewerFailing,
    /// The last one made commits.
    Committed,
}

impl Sign {
    /// Whether it speaks for trying on as before.
    pub fn is_progress(self) -> bool {
        match self {
            Self::NewError | Self::FewerFailing | Self::Committed => true,
            Self::SameFailure | Self::NoChange | Self::Alternating => false,
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            Self::SameFailure => "the same failure twice in a row",
            Self::NoChange => "two attempts in a row changed no files",
            Self::Alternating => "the same two failures alternate",
            Self::NewError => "a new error",
            Self::FewerFailing => "fewer tests fail",
            Self::Committed => "new commits",
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailureTrend {
    pub failures: u32,
    /// How many rungs above its start the strategy that climbs when needed has got.
    pub climbed: u32,
    pub signs: Vec<Sign>,
    /// Whether it is time for another way of going about it.
    pub stuck: bool,
}

impl FailureTrend {
    /// Whether the last failure shows progress, and nothing speaks against it.
    pub fn moves(&self) -> bool {
        moves(&self.signs)
    }
}

/// Reads a task's counted failures since its last success, oldest first.
///
/// One failure changes nothing. After two, the next rung, unless there is progress, which earns the same model one more
/// try. From the third on, a rung with every failure.
pub fn failure_trend(failed_attempts: &[FailedAttempt], policy: &Policy) -> FailureTrend {
    let failures = u32::try_from(failed_attempts.len()).unwrap_or(u32::MAX);
    let mut climbed = 0;
    for number in 1..=failed_attempts.len() {
        let so_far = failed_attempts.get(..number).unwrap_or_default();
        let count = u32::try_from(number).unwrap_or(u32::MAX);
        if count >= policy.escalate_always || (count >= policy.escalate_after && !moves(&signs(so_far))) {
            climbed += 1;
        }
    }
    let signs = signs(failed_attempts);
    let stuck = failures >= policy.stuck_after || signs.contains(&Sign::Alternating);
    FailureTrend { failures, climbed, signs, stuck }
}

fn moves(signs: &[Sign]) -> bool {
    signs.iter().any(|sign| sign.is_progress()) && signs.iter().all(|sign| sign.is_progress())
}

/// What the end of a row of failures shows.
fn signs(failed_attempts: &[FailedAttempt]) -> Vec<Sign> {
    let mut signs = Vec::new();
    if alternates(failed_attempts) {
        signs.push(Sign::Alternating);
    }
    let [.., before, last] = failed_attempts else { return signs };
    let compared = compare(before, last);
    if compared == Some(Sign::SameFailure) {
        signs.push(Sign::SameFailure);
    }
    // Fewer failing tests are movement, even where git sees none: work may be in files it ignores.
    let fewer = compared == Some(Sign::FewerFailing);
    if before.changed == Some(false) && last.changed == Some(false) && !fewer {
        signs.push(Sign::NoChange);
    }
    signs.extend(compared.filter(|sign| sign.is_progress()));
    if last.committed {
        signs.push(Sign::Committed);
    }
    signs
}

/// A, B, A, B at the end.
fn alternates(failed_attempts: &[FailedAttempt]) -> bool {
    let [.., a, b, c, d] = failed_attempts else { return false };
    a.coarse.is_some()
        && b.coarse.is_some()
        && a.coarse == c.coarse
        && b.coarse == d.coarse
        && a.coarse != b.coarse
}

/// What a failure shows beside the one before it, by their fingerprints.
fn compare(before: &FailedAttempt, last: &FailedAttempt) -> Option<Sign> {
    fn print(of: &FailedAttempt) -> Option<(&str, &str, &[String])> {
        Some((of.coarse.as_deref()?, of.fine.as_deref()?, &of.failing))
    }
    let (was, is) = (print(before)?, print(last)?);
    if before.prose || last.prose {
        return (was.0 == is.0).then_some(Sign::SameFailure);
    }
    match relation(was, is) {
        Relation::Same => Some(Sign::SameFailure),
        Relation::Fewer => Some(Sign::FewerFailing),
        Relation::NewMessage | Relation::Different => Some(Sign::NewError),
        Relation::More | Relation::Unknown => None,
    }
}

const NAMED: usize = 3;
const APPROACH_CHARS: usize = 100;

/// What the warning adds. `approaches` are what was tried, oldest first, in the agents' own words.
pub fn stuck_advice<'t>(trend: &FailureTrend, approaches: impl Iterator<Item = &'t str>) -> Vec<String> {
    if !trend.stuck {
        return Vec::new();
    }
    let mut lines = Vec::new();
    let signs: Vec<&str> =
        trend.signs.iter().filter(|sign| !sign.is_progress()).map(|sign| sign.words()).collect();
    if !signs.is_empty() {
        lines.push(format!("Evidence: {}.", signs.join("; ")));
    }
    let mut tried: Vec<String> = Vec::new();
    for approach in approaches {
        let said = first_sentence(approach).unwrap_or_else(|| one_line(approach, APPROACH_CHARS));
        let said = one_line(&said, APPROACH_CHARS);
        if !said.is_empty() && !tried.contains(&said) {
            tried.push(said);
        }
    }
    let skip = tried.len().saturating_sub(NAMED);
    let tried: Vec<String> = tried.iter().skip(skip).map(|said| format!("“{said}”")).collect();
    if !tried.is_empty() {
        lines.push(format!("Already tried, do not repeat: {}", tried.join("; ")));
    }
    lines.push(
        "Diagnose first: reproduce the failure, state its cause in one sentence, and only then change anything."
            .to_owned(),
    );
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A failure with this coarse and fine fingerprint.
    fn failed(coarse: &str, fine: &str) -> FailedAttempt {
        FailedAttempt {
            model: "sonnet".into(),
            coarse: Some(coarse.into()),
            fine: Some(fine.into()),
            changed: Some(true),
            ..FailedAttempt::default()
        }
    }

    fn climbed(failed_attempts: &[FailedAttempt]) -> u32 {
        failure_trend(failed_attempts, &Policy::default()).climbed
    }

    #[test]
    fn str_02_one_failure_climbs_nothing_and_the_same_again_does() {
        let same = failed("a", "a");
        assert_eq!(climbed(std::slice::from_ref(&same)), 0);
        assert_eq!(climbed(&[same.clone(), same.clone()]), 1);
        assert_eq!(climbed(&[same.clone(), same.clone(), same]), 2);
    }

    #[test]
    fn str_02_progress_earns_one_more_try_but_not_a_third() {
        let failed_attempts = [failed("a", "a"), failed("b", "b"), failed("c", "c")];
        assert_eq!(climbed(&failed_attempts[..2]), 0);
        assert_eq!(climbed(&failed_attempts), 1);
    }

    #[test]
    fn str_02_without_fingerprints_there_is_no_progress() {
        let bare = FailedAttempt::default();
        assert_eq!(climbed(&[bare.clone(), bare]), 1);
    }

    #[test]
    fn str_11_signs_of_being_stuck_and_of_progress() {
        let signs =
            |failed_attempts: &[FailedAttempt]| failure_trend(failed_attempts, &Policy::default()).signs;
        let (a, b) = (failed("a", "a"), failed("b", "b"));
        assert_eq!(signs(&[a.clone(), a.clone()]), [Sign::SameFailure]);
        let still = FailedAttempt { changed: Some(false), ..b.clone() };
        let idle = FailedAttempt { changed: Some(false), ..a.clone() };
        let no_change = [idle, still];
        assert_eq!(signs(&no_change), [Sign::NoChange, Sign::NewError]);
        assert_eq!(climbed(&no_change), 1, "a new error without any change is no progress");
        let turns = [a.clone(), b.clone(), a.clone(), b.clone()];
        assert!(signs(&turns).contains(&Sign::Alternating));
        let with = |names: &[&str], coarse: &str| FailedAttempt {
            failing: names.iter().map(|name| (*name).into()).collect(),
            ..failed(coarse, coarse)
        };
        let shrinks = [with(&["x", "y"], "xy"), with(&["y"], "y")];
        assert_eq!(signs(&shrinks), [Sign::FewerFailing]);
        assert_eq!(climbed(&shrinks), 0);
        let other = [with(&["x", "y"], "xy"), with(&["z"], "z")];
        assert_eq!(signs(&other), [Sign::NewError]);
    }

    #[test]
    fn fp_04_another_message_is_progress_more_failing_tests_are_not() {
        let signs =
            |failed_attempts: &[FailedAttempt]| failure_trend(failed_attempts, &Policy::default()).signs;
        let message = [failed("a", "a: one"), failed("a", "a: two")];
        assert_eq!(signs(&message), [Sign::NewError]);
        assert_eq!(climbed(&message), 0);
        let with = |names: &[&str]| FailedAttempt {
            failing: names.iter().map(|name| (*name).into()).collect(),
            ..failed(&names.join(" "), &names.join(" "))
        };
        assert_eq!(signs(&[with(&["x"]), with(&["x", "y"])]), []);
        assert_eq!(climbed(&[with(&["x"]), with(&["x", "y"])]), 1);
    }

    #[test]
    fn str_01_other_words_of_the_agent_are_no_progress() {
        let said = |words: &str| FailedAttempt { prose: true, ..failed(words, words) };
        let signs =
            |failed_attempts: &[FailedAttempt]| failure_trend(failed_attempts, &Policy::default()).signs;
        assert_eq!(signs(&[said("a"), said("b")]), []);
        assert_eq!(signs(&[said("a"), said("a")]), [Sign::SameFailure]);
    }

    #[test]
    fn str_11_alternation_is_stuck_before_the_threshold() {
        let patient = Policy { stuck_after: 9, ..Policy::default() };
        let (a, b) = (failed("a", "a"), failed("b", "b"));
        let turns = [a.clone(), b.clone(), a.clone(), b.clone()];
        assert!(failure_trend(&turns, &patient).stuck);
        assert!(!failure_trend(&turns[..3], &patient).stuck);
        assert!(!failure_trend(&[a.clone(), b.clone(), a, failed("c", "c")], &patient).stuck);
    }

    fn any_try() -> impl Strategy<Value = FailedAttempt> {
        let print = || proptest::option::of("[abc]");
        (print(), print(), proptest::collection::vec("[xyz]", 0..3), any::<Option<bool>>(), any::<bool>())
            .prop_map(|(coarse, fine, failing, changed, committed)| FailedAttempt {
                model: "m".into(),
                coarse,
                fine,
                failing,
                changed,
                committed,
                ..FailedAttempt::default()
            })
    }

    proptest! {
        #[test]
        fn str_10_the_course_depends_on_its_input_alone_and_never_goes_back(
            failed_attempts in proptest::collection::vec(any_try(), 0..12),
        ) {
            let policy = Policy::default();
            let mut before = FailureTrend::default();
            for number in 0..=failed_attempts.len() {
                let now = failure_trend(&failed_attempts[..number], &policy);
                prop_assert_eq!(&now, &failure_trend(&failed_attempts[..number], &policy));
                prop_assert!(now.climbed >= before.climbed && now.climbed <= before.climbed + 1);
                prop_assert!(now.climbed <= now.failures);
                prop_assert!(now.failures < policy.stuck_after || now.stuck);
                before = now;
            }
        }
    }

    #[test]
    fn str_03_a_stuck_task_is_told_what_not_to_repeat_and_to_diagnose_first() {
        let same = FailedAttempt {
            coarse: Some("a".into()),
            fine: Some("a".into()),
            changed: Some(false),
            ..FailedAttempt::default()
        };
        let policy = Policy::default();
        let stuck = failure_trend(&[same.clone(), same.clone(), same.clone()], &policy);
        let said = ["One batch.", "", "One batch.", "Two batches. And more."];
        insta::assert_snapshot!(stuck_advice(&stuck, said.into_iter()).join("\n"), @r"
        Evidence: the same failure twice in a row; two attempts in a row changed no files.
        Already tried, do not repeat: “One batch.”; “Two batches.”
        Diagnose first: reproduce the failure, state its cause in one sentence, and only then change anything.
        ");
        assert!(stuck_advice(&failure_trend(&[same], &policy), said.into_iter()).is_empty());
    }
}
