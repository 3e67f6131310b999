//! What an attempt does to its task: counters and status.

use crate::evidence::Verdict;
use crate::model::{Difficulty, ErrorType, FailureClass, Outcome, TaskMetrics};
use crate::store::TaskNext;
use crate::text::in_a_row;

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
    /// Every so many lost tries in a row, one counts.
    pub lost_counts_every: u32,
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
        }
    }
}

impl Policy {
    /// Why a task gets no further attempt without a person, where it gets none. `used` are the counted attempts since the
    /// last go-ahead, `last` is why the last one failed.
    #[must_use]
    pub fn used_up(&self, used: u32, name: &str, last: Option<&str>) -> Option<String> {
        if used < self.max_total_attempts {
            return None;
        }
        let most = self.max_total_attempts;
        let plural = if used == 1 { "" } else { "s" };
        let last = last.map(|why| format!("; last: {why}")).unwrap_or_default();
        Some(format!(
            "used {used} attempt{plural}, [run] max_total_attempts allows {most}{last}; `ralph run {name}` \
             allows {most} more"
        ))
    }
}

/// A task after an attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct AfterAttempt {
    /// Its counters.
    pub metrics: TaskMetrics,
    /// What becomes of it.
    pub next: TaskNext,
    /// It goes to a person because it failed too often.
    pub gave_up: bool,
}

/// What an attempt brought besides its verdict.
#[derive(Clone, Copy, Debug, Default)]
pub struct Said<'a> {
    /// The agent's estimate.
    pub difficulty: Option<Difficulty>,
    /// The model it asks for.
    pub next_model: Option<&'a str>,
    /// Why it failed, by its report.
    pub why: Option<&'a str>,
    /// Whether the course of the task, this failure included, says that it is stuck.
    pub stuck: bool,
    /// What was tried without a person, for the record of a task that is given up.
    pub tried: Option<&'a str>,
    /// What only a person can do before another attempt makes sense.
    pub needs_person: Option<&'a str>,
}

/// Follows from a verdict.
pub fn after_attempt(
    before: &TaskMetrics,
    verdict: &Verdict,
    said: &Said<'_>,
    policy: &Policy,
) -> AfterAttempt {
    let Said { difficulty, .. } = *said;
    let mut metrics = before.clone();
    if !verdict.counted {
        // The service's faults neither raise nor clear anything, lost attempts in a row included: a task that kills Ralph
        // would else go on for ever, if only a limit is met now and then. But a model that cannot be used must not be tried again
        // and again because somebody hinted at it.
        let class = verdict.error_type.as_ref().map(ErrorType::class);
        if class == Some(FailureClass::Setup) {
            metrics.next_model = None;
        }
        let next = match class {
            // Every further attempt would end the same way.
            Some(FailureClass::Gate) => TaskNext::Blocked {
                reason: gate_reason(verdict, said),
            },
            _ => TaskNext::Pending,
        };
        return AfterAttempt {
            metrics,
            next,
            gave_up: false,
        };
    }
    metrics.lost_in_a_row = 0;
    metrics.next_model = said.next_model.map(str::to_owned);
    metrics.difficulty = difficulty.or(before.difficulty);
    count(&mut metrics, verdict.outcome, said.stuck, policy);
    let next = match verdict.outcome {
        Outcome::Done => TaskNext::Done,
        Outcome::Failed | Outcome::NoSigil | Outcome::Error => {
            let why = verdict.message.as_deref().unwrap_or("unknown reason");
            if let Some(fix) = said.needs_person {
                let reason = format!("{why}; {fix}");
                TaskNext::Blocked { reason }
            } else if difficulty == Some(Difficulty::Blocked) {
                let why = said.why.unwrap_or(why);
                TaskNext::Blocked {
                    reason: format!("the agent says it is blocked: {why}"),
                }
            } else {
                failed(&metrics, why, said.tried, policy)
            }
        }
    };
    let failed = verdict.outcome != Outcome::Done;
    let gave_up = failed && metrics.consecutive_failures >= policy.max_attempts;
    AfterAttempt {
        metrics,
        next,
        gave_up,
    }
}

fn gate_reason(verdict: &Verdict, said: &Said<'_>) -> String {
    let why = verdict.message.as_deref().unwrap_or("the gate cannot run");
    match said.needs_person {
        Some(fix) => format!("{why}; {fix}"),
        None => why.to_owned(),
    }
}

/// Follows from finding a try whose process died: uncounted, but every third in a row counts, so that a task that
/// kills Ralph each time does not do so for ever. Returns also whether this one counts.
pub fn after_lost(before: &TaskMetrics, policy: &Policy) -> (AfterAttempt, bool) {
    let mut metrics = TaskMetrics {
        lost_in_a_row: before.lost_in_a_row + 1,
        ..before.clone()
    };
    let counts = policy.lost_counts_every > 0
        && metrics
            .lost_in_a_row
            .is_multiple_of(policy.lost_counts_every);
    let next = if counts {
        metrics.next_model = None;
        count(&mut metrics, Outcome::Error, false, policy);
        failed(
            &metrics,
            "Ralph crashed during several attempts in a row",
            None,
            policy,
        )
    } else {
        TaskNext::Pending
    };
    let gave_up = matches!(next, TaskNext::Blocked { .. });
    let after = AfterAttempt {
        metrics,
        next,
        gave_up,
    };
    (after, counts)
}

fn count(metrics: &mut TaskMetrics, outcome: Outcome, stuck: bool, policy: &Policy) {
    metrics.total_attempts += 1;
    if outcome == Outcome::Done {
        metrics.consecutive_failures = 0;
        metrics.stuck = false;
    } else {
        metrics.consecutive_failures += 1;
        metrics.stuck = stuck || metrics.consecutive_failures >= policy.stuck_after;
    }
}

fn failed(metrics: &TaskMetrics, why: &str, tried: Option<&str>, policy: &Policy) -> TaskNext {
    if metrics.consecutive_failures < policy.max_attempts {
        return TaskNext::Pending;
    }
    let times = in_a_row(metrics.consecutive_failures);
    let tried = tried
        .map(|tried| format!("; tried {tried}"))
        .unwrap_or_default();
    TaskNext::Blocked {
        reason: format!("failed {times}{tried}; last: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn verdict(outcome: Outcome, counted: bool) -> Verdict {
        Verdict {
            outcome,
            error_type: None,
            counted,
            message: Some("why".into()),
            abort: false,
        }
    }

    fn play(verdicts: &[Verdict], policy: &Policy) -> (TaskMetrics, Vec<TaskNext>) {
        let mut metrics = TaskMetrics::default();
        let mut steps = Vec::new();
        for verdict in verdicts {
            let after = after_attempt(&metrics, verdict, &Said::default(), policy);
            metrics = after.metrics;
            steps.push(after.next);
        }
        (metrics, steps)
    }

    #[test]
    fn str_04_at_max_attempts_a_person_is_asked() {
        let failures = vec![verdict(Outcome::Failed, true); 5];
        let (metrics, steps) = play(&failures, &Policy::default());
        assert!(steps[..4].iter().all(|next| *next == TaskNext::Pending));
        let reason = "failed 5 times in a row; last: why".to_owned();
        assert_eq!(steps[4], TaskNext::Blocked { reason });
        let once = Policy {
            max_attempts: 1,
            ..Policy::default()
        };
        let reason = "failed once; last: why".to_owned();
        let (_, steps) = play(&failures[..1], &once);
        assert_eq!(steps, [TaskNext::Blocked { reason }]);
        assert_eq!(
            (metrics.total_attempts, metrics.consecutive_failures),
            (5, 5)
        );
    }

    #[test]
    fn cap_08_three_in_a_row_are_stuck_and_success_clears() {
        let mut story = vec![verdict(Outcome::NoSigil, true); 3];
        let (metrics, _) = play(&story, &Policy::default());
        assert!(metrics.stuck);
        story.push(verdict(Outcome::Done, true));
        let (metrics, steps) = play(&story, &Policy::default());
        assert_eq!(
            (
                metrics.stuck,
                metrics.consecutive_failures,
                metrics.total_attempts
            ),
            (false, 0, 4)
        );
        assert_eq!(steps[3], TaskNext::Done);
    }

    #[test]
    fn dif_03_a_blocked_estimate_goes_to_a_person_at_once() {
        let failed = verdict(Outcome::Failed, true);
        let blocked = Some(Difficulty::Blocked);
        let policy = Policy::default();
        let said = Said {
            difficulty: blocked,
            why: Some("needs a password"),
            ..Said::default()
        };
        let after = after_attempt(&TaskMetrics::default(), &failed, &said, &policy);
        let reason = "the agent says it is blocked: needs a password".to_owned();
        assert_eq!(after.next, TaskNext::Blocked { reason });
        let done = verdict(Outcome::Done, true);
        let after = after_attempt(&TaskMetrics::default(), &done, &said, &policy);
        assert_eq!(after.next, TaskNext::Done);
    }

    #[test]
    fn a_hint_at_a_model_that_cannot_be_used_is_dropped() {
        let hinted = TaskMetrics {
            next_model: Some("opus".into()),
            ..TaskMetrics::default()
        };
        let after = |error| {
            let mut verdict = verdict(Outcome::Error, false);
            verdict.error_type = Some(error);
            let after = after_attempt(&hinted, &verdict, &Said::default(), &Policy::default());
            after.metrics.next_model
        };
        assert_eq!(after(ErrorType::Config), None);
        assert_eq!(after(ErrorType::RateLimit), Some("opus".into()));
    }

    #[test]
    fn str_11_a_course_that_is_stuck_sets_the_flag_before_the_threshold() {
        let policy = Policy {
            stuck_after: 9,
            ..Policy::default()
        };
        let said = Said {
            stuck: true,
            ..Said::default()
        };
        let failed = verdict(Outcome::Failed, true);
        let after = after_attempt(&TaskMetrics::default(), &failed, &said, &policy);
        assert!(after.metrics.stuck);
    }

    #[test]
    fn what_a_task_may_be_attempted_is_used_up_at_the_limit() {
        let policy = Policy {
            max_total_attempts: 2,
            ..Policy::default()
        };
        assert_eq!(policy.used_up(1, "1.3", None), None);
        let why = policy.used_up(2, "1.3", Some("no disk")).unwrap();
        let expected = "used 2 attempts, [run] max_total_attempts allows 2; last: no disk; \
                        `ralph run 1.3` allows 2 more";
        assert_eq!(why, expected);
    }

    #[test]
    fn lost_attempts_are_in_a_row_whatever_does_not_count_between_them() {
        let mut metrics = TaskMetrics::default();
        let mut counted = 0;
        for _ in 0..6 {
            let (after, counts) = after_lost(&metrics, &Policy::default());
            counted += u32::from(counts);
            let mut limited = verdict(Outcome::Error, false);
            limited.error_type = Some(ErrorType::RateLimit);
            let said = Said::default();
            metrics = after_attempt(&after.metrics, &limited, &said, &Policy::default()).metrics;
        }
        assert_eq!(counted, 2);
    }

    #[test]
    fn plan_07_every_third_lost_try_in_a_row_counts() {
        let mut metrics = TaskMetrics::default();
        let mut counted = Vec::new();
        for _ in 0..7 {
            let (after, counts) = after_lost(&metrics, &Policy::default());
            metrics = after.metrics;
            counted.push(counts);
        }
        assert_eq!(counted, [false, false, true, false, false, true, false]);
        assert_eq!(
            (metrics.total_attempts, metrics.consecutive_failures),
            (2, 2)
        );
        let after = after_attempt(
            &metrics,
            &verdict(Outcome::Failed, true),
            &Said::default(),
            &Policy::default(),
        );
        assert_eq!(after.metrics.lost_in_a_row, 0);
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
                let mut verdict = verdict(outcome, counted);
                if !counted {
                    verdict.error_type = Some(ErrorType::Overloaded);
                }
                let after = after_attempt(&metrics, &verdict, &Said::default(), &policy);
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
