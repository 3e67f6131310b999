//! What an attempt does: whether it counts, the counters and status of its task, the circuit breaker.

use crate::breaker::{BreakerChange, BreakerStanding};
use crate::evidence::Verdict;
use crate::model::{Difficulty, ErrorType, FailureClass, Outcome, TaskMetrics};
use crate::store::TaskNext;
use crate::text;

/// Thresholds of the escalation on one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Counted failures in a row after which a person is asked.
    pub max_attempts: u32,
    /// Counted attempts on a task and its fix tasks, over all runs, after which only a person can allow more.
    pub max_total_attempts: u32,
    /// Counted failures in a row after which the task is stuck.
    pub stuck_after: u32,
    /// Counted failures in a row after which the next model is tried, unless there is progress.
    pub escalate_after: u32,
    /// Counted failures in a row after which it is tried in any case.
    pub escalate_always: u32,
    /// Every so many lost attempts in a row, one counts.
    pub lost_counts_every: u32,
    /// So many attempts in a row that do not go together with what others landed do not count.
    pub free_landing_failures: u32,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            max_attempts: 5,
            max_total_attempts: 15,
            stuck_after: 3,
            escalate_after: 2,
            escalate_always: 3,
            lost_counts_every: 3,
            free_landing_failures: 2,
        }
    }
}

impl Policy {
    /// Whether an attempt whose process died counts, as the last of so many in a row: else a task that kills Ralph each
    /// time would do so for ever.
    fn counts_lost(&self, in_a_row: u32) -> bool {
        self.lost_counts_every > 0 && in_a_row.is_multiple_of(self.lost_counts_every)
    }

    /// Why a task gets no further attempt without a person, where it gets none. `used` are the counted attempts since the
    /// last go-ahead, `last` is why the last one failed.
    pub fn used_up(&self, used: u32, name: &str, last: Option<&str>) -> Option<String> {
        if used < self.max_total_attempts {
            return None;
        }
        let most = self.max_total_attempts;
        let plural = if used == 1 { "" } else { "s" };
        let last = last.map(|why| format!(". Last: {why}")).unwrap_or_default();
        Some(format!(
            "used {used} attempt{plural}, [run] max_total_attempts allows {most}{last}; `ralph run {name}` \
             allows {most} more"
        ))
    }
}

/// What else decides what becomes of a task: what its agent signaled, what was tried so far, which limits apply.
#[derive(Clone, Copy, Debug, Default)]
pub struct Circumstances<'a> {
    pub difficulty: Option<Difficulty>,
    pub next_model: Option<&'a str>,
    /// The model, where a person had chosen it for this attempt. The choice is gone since the attempt began.
    pub users_model: Option<&'a str>,
    pub why: Option<&'a str>,
    /// Whether the failures that were known at the claim, and this one, say that the task is stuck.
    pub stuck: bool,
    /// How often failures had been forgiven at the claim: those that were forgiven since say nothing.
    pub forgiven: u32,
    /// What was tried without a person, for the record of a task that is given up.
    pub tried: Option<&'a str>,
    /// What only a person can do before another attempt makes sense.
    pub needs_person: Option<&'a str>,
    /// A plan change that was granted keeps the task open: its agent found another way.
    pub keeps_open: bool,
    /// The task whose attempts are counted together with its fixes'.
    pub root: &'a str,
    /// Why its chain of fixes ends here.
    pub recovery_limit: Option<&'a str>,
    pub coarse: Option<&'a str>,
    /// Failures in a row, over all tasks, that may open the breaker.
    pub breaker_threshold: u32,
}

/// How the task and the breaker stand when the attempt is recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Standing {
    pub metrics: TaskMetrics,
    /// Counted attempts on its chain since a person last gave a go-ahead.
    pub attempts_used: u32,
    pub breaker: BreakerStanding,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    pub counted: bool,
    pub metrics: TaskMetrics,
    pub next: TaskNext,
    /// The limit that gave it to a person.
    pub given_up: Option<GivenUp>,
    pub breaker: BreakerChange,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenUp {
    Retries,
    TotalAttempts,
    /// Fixes of fixes.
    Recovery,
}

/// What an attempt comes to for its task and for the breaker. `before` is read in the transaction that records the attempt.
pub fn settle(
    verdict: &Verdict,
    circumstances: &Circumstances<'_>,
    before: &Standing,
    policy: &Policy,
) -> Settled {
    let mut metrics = before.metrics.clone();
    let class = verdict.error_type.as_ref().map(ErrorType::class);
    let (lost, landing) = (class == Some(FailureClass::Lost), class == Some(FailureClass::Landing));
    let counted = match verdict.outcome == Outcome::Error {
        true if lost => {
            metrics.lost_in_a_row += 1;
            policy.counts_lost(metrics.lost_in_a_row)
        }
        true if landing => {
            metrics.landing_failures += 1;
            metrics.landing_failures > policy.free_landing_failures
        }
        _ => verdict.counts(),
    };
    if !counted {
        return uncounted(verdict, circumstances, metrics);
    }
    if !lost {
        metrics.lost_in_a_row = 0;
    }
    if !landing {
        metrics.landing_failures = 0;
    }
    metrics.next_model = circumstances.next_model.map(str::to_owned);
    metrics.difficulty = circumstances.difficulty.or(metrics.difficulty);
    metrics.total_attempts += 1;
    let (next, given_up) = if verdict.outcome == Outcome::Done {
        metrics.consecutive_failures = 0;
        metrics.stuck = false;
        (TaskNext::Done, None)
    } else if circumstances.keeps_open {
        (TaskNext::Pending, None)
    } else {
        metrics.consecutive_failures += 1;
        let in_a_row = metrics.consecutive_failures;
        let stuck = circumstances.stuck && circumstances.forgiven == before.metrics.forgiven;
        metrics.stuck = stuck || in_a_row >= policy.stuck_after;
        after_failure(verdict, circumstances, before, in_a_row, policy)
    };
    let threshold = circumstances.breaker_threshold;
    let breaker = &before.breaker;
    Settled {
        counted,
        metrics,
        next,
        given_up,
        breaker: breaker.after(counted, verdict.outcome, circumstances.coarse, threshold),
    }
}

/// Faults of the service neither raise nor clear anything, lost attempts in a row included: a task that kills Ralph would
/// else go on for ever, if only a limit is met now and then.
fn uncounted(verdict: &Verdict, circumstances: &Circumstances<'_>, mut metrics: TaskMetrics) -> Settled {
    let class = verdict.error_type.as_ref().map(ErrorType::class);
    if class == Some(FailureClass::Setup) {
        // A model that cannot be used must not be tried again and again because somebody hinted at it.
        metrics.next_model = None;
    } else if metrics.users_model.is_none() {
        // What a person chose for this attempt holds for the next one, unless another choice was made meanwhile.
        metrics.users_model = circumstances.users_model.map(str::to_owned);
    }
    let next = match class {
        // Every further attempt would end the same way.
        Some(FailureClass::Gate) => {
            let why = verdict.message.as_deref().unwrap_or("the gate cannot run");
            let fix = circumstances.needs_person.map(|fix| format!("; {fix}"));
            let reason = format!("{why}{}", fix.unwrap_or_default());
            TaskNext::Blocked { reason }
        }
        _ => TaskNext::Pending,
    };
    Settled { counted: false, metrics, next, given_up: None, breaker: BreakerChange::None }
}

fn after_failure(
    verdict: &Verdict,
    circumstances: &Circumstances<'_>,
    before: &Standing,
    in_a_row: u32,
    policy: &Policy,
) -> (TaskNext, Option<GivenUp>) {
    let why = match verdict.error_type {
        Some(ErrorType::Lost) => "Ralph crashed during several attempts in a row",
        _ => verdict.message.as_deref().unwrap_or("unknown reason"),
    };
    let retries = (in_a_row >= policy.max_attempts).then_some(GivenUp::Retries);
    let used = before.attempts_used.saturating_add(1);
    let blocked = |reason: String| TaskNext::Blocked { reason };
    if let Some(fix) = circumstances.needs_person {
        (blocked(format!("{why}; {fix}")), retries)
    } else if circumstances.difficulty == Some(Difficulty::Blocked) {
        let why = circumstances.why.unwrap_or(why);
        (blocked(format!("the agent says it is blocked: {why}")), retries)
    } else if retries.is_some() {
        let times = text::in_a_row(in_a_row);
        let tried = circumstances.tried.map(|tried| format!(" ({tried})"));
        let tried = tried.unwrap_or_default();
        (blocked(format!("failed {times}{tried}. Last: {why}")), retries)
    } else if let Some(reason) = policy.used_up(used, circumstances.root, verdict.message.as_deref()) {
        (blocked(reason), Some(GivenUp::TotalAttempts))
    } else if let Some(reason) = circumstances.recovery_limit {
        (blocked(reason.to_owned()), Some(GivenUp::Recovery))
    } else {
        (TaskNext::Pending, None)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn verdict(outcome: Outcome) -> Verdict {
        Verdict {
            outcome,
            error_type: (outcome == Outcome::Error).then_some(ErrorType::Crash),
            message: Some("why".into()),
            abort: false,
        }
    }

    fn error(error_type: ErrorType) -> Verdict {
        Verdict { error_type: Some(error_type), ..verdict(Outcome::Error) }
    }

    fn after(metrics: &TaskMetrics, verdict: &Verdict, policy: &Policy) -> Settled {
        after_with(metrics, verdict, &Circumstances::default(), policy)
    }

    fn after_with(
        metrics: &TaskMetrics,
        verdict: &Verdict,
        circumstances: &Circumstances<'_>,
        policy: &Policy,
    ) -> Settled {
        let before = Standing { metrics: metrics.clone(), ..Standing::default() };
        settle(verdict, circumstances, &before, policy)
    }

    fn play(verdicts: &[Verdict], policy: &Policy) -> (TaskMetrics, Vec<TaskNext>) {
        let mut metrics = TaskMetrics::default();
        let mut steps = Vec::new();
        for verdict in verdicts {
            let after = after(&metrics, verdict, policy);
            metrics = after.metrics;
            steps.push(after.next);
        }
        (metrics, steps)
    }

    #[test]
    fn str_04_at_max_attempts_a_person_is_asked() {
        let failures = vec![verdict(Outcome::Failed); 5];
        let (metrics, steps) = play(&failures, &Policy::default());
        assert!(steps[..4].iter().all(|next| *next == TaskNext::Pending));
        let reason = "failed 5 times in a row. Last: why".to_owned();
        assert_eq!(steps[4], TaskNext::Blocked { reason });
        let once = Policy { max_attempts: 1, ..Policy::default() };
        let reason = "failed once. Last: why".to_owned();
        let (_, steps) = play(&failures[..1], &once);
        assert_eq!(steps, [TaskNext::Blocked { reason }]);
        assert_eq!((metrics.total_attempts, metrics.consecutive_failures), (5, 5));
    }

    #[test]
    fn cap_08_three_in_a_row_are_stuck_and_success_clears() {
        let mut story = vec![verdict(Outcome::NoSigil); 3];
        let (metrics, _) = play(&story, &Policy::default());
        assert!(metrics.stuck);
        story.push(verdict(Outcome::Done));
        let (metrics, steps) = play(&story, &Policy::default());
        assert_eq!((metrics.stuck, metrics.consecutive_failures, metrics.total_attempts), (false, 0, 4));
        assert_eq!(steps[3], TaskNext::Done);
    }

    #[test]
    fn dif_03_a_blocked_estimate_goes_to_a_person_at_once() {
        let failed = verdict(Outcome::Failed);
        let blocked = Some(Difficulty::Blocked);
        let policy = Policy::default();
        let said =
            Circumstances { difficulty: blocked, why: Some("needs a password"), ..Circumstances::default() };
        let after = after_with(&TaskMetrics::default(), &failed, &said, &policy);
        let reason = "the agent says it is blocked: needs a password".to_owned();
        assert_eq!(after.next, TaskNext::Blocked { reason });
        let done = verdict(Outcome::Done);
        let after = after_with(&TaskMetrics::default(), &done, &said, &policy);
        assert_eq!(after.next, TaskNext::Done);
    }

    #[test]
    fn a_hint_at_a_model_that_cannot_be_used_is_dropped() {
        let hinted = TaskMetrics { next_model: Some("opus".into()), ..TaskMetrics::default() };
        let after = |kind| after(&hinted, &error(kind), &Policy::default()).metrics.next_model;
        assert_eq!(after(ErrorType::Config), None);
        assert_eq!(after(ErrorType::RateLimit), Some("opus".into()));
    }

    #[test]
    fn str_11_a_course_that_is_stuck_sets_the_flag_before_the_threshold() {
        let policy = Policy { stuck_after: 9, ..Policy::default() };
        let said = Circumstances { stuck: true, ..Circumstances::default() };
        let failed = verdict(Outcome::Failed);
        let after = after_with(&TaskMetrics::default(), &failed, &said, &policy);
        assert!(after.metrics.stuck);
    }

    #[test]
    fn what_a_task_may_be_attempted_is_used_up_at_the_limit() {
        let policy = Policy { max_total_attempts: 2, ..Policy::default() };
        assert_eq!(policy.used_up(1, "1.3", None), None);
        let why = policy.used_up(2, "1.3", Some("no disk")).unwrap();
        let expected = "used 2 attempts, [run] max_total_attempts allows 2. Last: no disk; \
                        `ralph run 1.3` allows 2 more";
        assert_eq!(why, expected);
    }

    #[test]
    fn lost_attempts_are_in_a_row_whatever_does_not_count_between_them() {
        let mut metrics = TaskMetrics::default();
        let policy = Policy::default();
        let mut counted = 0;
        for _ in 0..6 {
            let lost = after(&metrics, &error(ErrorType::Lost), &policy);
            counted += u32::from(lost.counted);
            metrics = after(&lost.metrics, &error(ErrorType::RateLimit), &policy).metrics;
        }
        assert_eq!(counted, 2);
    }

    #[test]
    fn plan_07_every_third_lost_attempt_in_a_row_counts() {
        let mut metrics = TaskMetrics::default();
        let policy = Policy::default();
        let mut counted = Vec::new();
        for _ in 0..7 {
            let lost = after(&metrics, &error(ErrorType::Lost), &policy);
            metrics = lost.metrics;
            counted.push(lost.counted);
        }
        assert_eq!(counted, [false, false, true, false, false, true, false]);
        assert_eq!((metrics.total_attempts, metrics.consecutive_failures), (2, 2));
        let failed = after(&metrics, &verdict(Outcome::Failed), &policy);
        assert_eq!(failed.metrics.lost_in_a_row, 0);
    }

    #[test]
    fn limits_give_a_task_to_a_person_in_order() {
        let circumstances =
            Circumstances { root: "1.3", recovery_limit: Some("too many fixes"), ..Circumstances::default() };
        let policy = Policy { max_total_attempts: 4, ..Policy::default() };
        let given_up = |failures, attempts_used| {
            let metrics = TaskMetrics { consecutive_failures: failures, ..TaskMetrics::default() };
            let before = Standing { metrics, attempts_used, ..Standing::default() };
            settle(&verdict(Outcome::Failed), &circumstances, &before, &policy).given_up
        };
        assert_eq!(given_up(4, 3), Some(GivenUp::Retries));
        assert_eq!(given_up(1, 3), Some(GivenUp::TotalAttempts));
        assert_eq!(given_up(1, 1), Some(GivenUp::Recovery));
        let open = Circumstances { keeps_open: true, ..circumstances };
        let before = Standing::default();
        let settled = settle(&verdict(Outcome::Failed), &open, &before, &policy);
        assert_eq!(settled.next, TaskNext::Pending);
        assert_eq!(settled.metrics.consecutive_failures, 0);
    }

    proptest! {
        #[test]
        fn str_05_10_a_task_never_fails_on_without_end_and_others_faults_never_harm_it(
            story in proptest::collection::vec((0..4_u8, any::<bool>()), 0..60),
            max_attempts in 1_u32..8,
        ) {
            let policy = Policy { max_attempts, ..Policy::default() };
            let mut metrics = TaskMetrics::default();
            let mut in_a_row = 0;
            for (kind, counted) in story {
                let outcome =
                    [Outcome::Done, Outcome::Failed, Outcome::NoSigil, Outcome::Error][kind as usize];
                let counted = counted || outcome != Outcome::Error;
                let verdict = if counted { verdict(outcome) } else { error(ErrorType::Overloaded) };
                let after = after(&metrics, &verdict, &policy);
                prop_assert_eq!(after.counted, counted);
                if counted {
                    in_a_row = if outcome == Outcome::Done { 0 } else { in_a_row + 1 };
                    let gives_up = matches!(after.next, TaskNext::Blocked { .. });
                    prop_assert_eq!(gives_up, in_a_row >= max_attempts);
                } else {
                    prop_assert_eq!(&after.metrics.consecutive_failures, &metrics.consecutive_failures);
                    prop_assert_eq!(&after.metrics.total_attempts, &metrics.total_attempts);
                    prop_assert_eq!(after.next, TaskNext::Pending);
                }
                metrics = after.metrics;
                prop_assert_eq!(metrics.consecutive_failures, in_a_row);
                prop_assert_eq!(metrics.stuck, in_a_row >= policy.stuck_after);
            }
        }
    }
}
