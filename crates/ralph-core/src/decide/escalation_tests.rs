//! Whole lives of tasks: what must hold for any strategy, any settings and any run of luck.

use proptest::prelude::*;
use proptest::strategy::Strategy as _;

use super::model_choice::tests::question;
use super::*;
use crate::adaptive::{Beliefs, Seen, observe};
use crate::evidence::Verdict;
use crate::model::{
    ChosenBy, Difficulty, ErrorType, ModelChoice, Neighbour, Outcome, Recent, Strategy, TaskMetrics,
};
use crate::store::TaskNext;

/// What happens in one try.
#[derive(Clone, Debug)]
enum Kind {
    Done,
    Fails(FailedAttempt),
    /// Not the task's fault.
    Fault(ErrorType),
}

/// One try, and what the agent says in it besides.
#[derive(Clone, Debug)]
struct Try {
    kind: Kind,
    difficulty: Option<Difficulty>,
    hint: Option<String>,
}

impl Try {
    fn counts(&self) -> bool {
        !matches!(self.kind, Kind::Fault(_))
    }
}

fn any_kind() -> impl proptest::strategy::Strategy<Value = Kind> {
    let print = || proptest::option::of("[abc]");
    let fails = (
        print(),
        print(),
        any::<Option<bool>>(),
        any::<bool>(),
        proptest::option::of(0.0..9.0_f64),
        any::<bool>(),
    )
        .prop_map(|(coarse, fine, changed, committed, cost_usd, prose)| {
            Kind::Fails(FailedAttempt {
                coarse,
                fine,
                changed,
                committed,
                cost_usd,
                prose,
                ..FailedAttempt::default()
            })
        });
    let fault = prop_oneof![
        Just(ErrorType::RateLimit),
        Just(ErrorType::Overloaded),
        Just(ErrorType::Network),
        Just(ErrorType::Auth),
        Just(ErrorType::Interrupted),
    ];
    prop_oneof![1 => Just(Kind::Done), 6 => fails, 2 => fault.prop_map(Kind::Fault)]
}

fn any_difficulty() -> impl proptest::strategy::Strategy<Value = Option<Difficulty>> {
    proptest::option::of(proptest::sample::select(Difficulty::ALL.to_vec()))
}

fn any_model() -> impl proptest::strategy::Strategy<Value = String> {
    prop_oneof![Just("m0"), Just("m1"), Just("m2"), Just("elsewhere")].prop_map(String::from)
}

prop_compose! {
    fn any_try()(
        kind in any_kind(),
        difficulty in any_difficulty(),
        hint in prop_oneof![4 => Just(None), 1 => any_model().prop_map(Some)],
    ) -> Try {
        Try { kind, difficulty, hint }
    }
}

prop_compose! {
    fn any_neighbour()(
        likeness in 0.0..1.0_f64,
        difficulty in any_difficulty(),
        failed in prop::collection::vec(any_model(), 0..3),
        done in proptest::option::of(any_model()),
    ) -> Neighbour {
        Neighbour { name: "n".into(), likeness, difficulty, failed, done }
    }
}

#[derive(Clone, Debug)]
struct World {
    strategy: Strategy,
    ladder: Vec<String>,
    policy: Policy,
    neighbours: Vec<Neighbour>,
    recent: Recent,
    value_usd: f64,
}

prop_compose! {
    fn any_world()(
        strategy in proptest::sample::select(Strategy::ALL.to_vec()),
        rungs in 0..6_usize,
        max_attempts in 1..8_u32,
        escalate_after in 1..4_u32,
        neighbours in prop::collection::vec(any_neighbour(), 0..4),
        counted in 0..20_u32,
        share in 0.0..1.0_f64,
        value_usd in 0.0..20.0_f64,
    ) -> World {
        World {
            strategy,
            ladder: (0..rungs).map(|rung| format!("m{rung}")).collect(),
            policy: Policy { max_attempts, escalate_after, escalate_always: escalate_after + 1, ..Policy::default() },
            neighbours,
            recent: Recent { done: (f64::from(counted) * share) as u32, counted },
            value_usd,
        }
    }
}

/// What became of a task, try by try.
#[derive(Debug, PartialEq)]
enum Step {
    Tried(String, String),
    Human(String),
    Done,
}

/// Lives a task's life until it is done, waits for a person or the failed_attempts are over; with its counters at the end.
fn live(world: &World, failed_attempts: &[Try]) -> (Vec<Step>, TaskMetrics) {
    let mut steps = Vec::new();
    let mut metrics = TaskMetrics::default();
    let mut failed: Vec<FailedAttempt> = Vec::new();
    let mut beliefs = Beliefs::default();
    for happens in failed_attempts {
        let so_far = failure_trend(&failed, &world.policy);
        let question = ModelQuestion {
            neighbours: &world.neighbours,
            recent: world.recent,
            hinted: metrics.next_model.as_deref(),
            difficulty: metrics.difficulty,
            attempts: metrics.total_attempts,
            failed_attempts: &failed,
            trend: &so_far,
            adaptive: AdaptiveInputs {
                beliefs: Some(&beliefs),
                value_usd: world.value_usd,
                max_attempts: world.policy.max_attempts,
            },
            ..question(&world.ladder, world.strategy, metrics.consecutive_failures)
        };
        let decision = choose_model(&question);
        if let Some(reason) = decision.ask_human {
            steps.push(Step::Human(reason));
            break;
        }
        let view = task_view(&question);
        let ModelChoice { model, rationale } = decision.choice;
        let (outcome, error_type, failure) = match &happens.kind {
            Kind::Done => (Outcome::Done, None, None),
            Kind::Fails(failure) => (Outcome::Failed, None, Some(failure)),
            Kind::Fault(error) => (Outcome::Error, Some(error.clone()), None),
        };
        let cost = failure.and_then(|failure| failure.cost_usd);
        failed.extend(failure.map(|failure| FailedAttempt {
            model: model.clone(),
            chosen_by: ChosenBy::from_rationale(&rationale),
            ..failure.clone()
        }));
        let verdict = Verdict { outcome, error_type, message: None, abort: false };
        let circumstances = Circumstances {
            difficulty: happens.difficulty,
            next_model: happens.hint.as_deref(),
            stuck: failure_trend(&failed, &world.policy).stuck,
            ..Circumstances::default()
        };
        let before = Standing { metrics, ..Standing::default() };
        let after = settle(&verdict, &circumstances, &before, &world.policy);
        metrics = after.metrics;
        if happens.counts() {
            let seen =
                Seen { model: &model, success: outcome == Outcome::Done, cost, estimate: metrics.difficulty };
            observe(&mut beliefs, &world.ladder, &view, &seen);
            steps.push(Step::Tried(model, rationale));
        }
        match after.next {
            TaskNext::Pending => {}
            TaskNext::Done => {
                steps.push(Step::Done);
                break;
            }
            TaskNext::Blocked { reason } => {
                steps.push(Step::Human(reason));
                break;
            }
        }
    }
    (steps, metrics)
}

proptest! {
    #[test]
    fn str_10_any_life_ends_within_the_caps_and_on_the_ladder(
        world in any_world(), failed_attempts in prop::collection::vec(any_try(), 0..40),
    ) {
        let (steps, metrics) = live(&world, &failed_attempts);
        let tried = steps.iter().filter(|step| matches!(step, Step::Tried(..))).count();
        prop_assert!(tried <= world.policy.max_attempts as usize);
        let ended = matches!(steps.last(), Some(Step::Done | Step::Human(_)));
        let counted = failed_attempts.iter().filter(|happens| happens.counts()).count();
        prop_assert!(ended || counted < world.policy.max_attempts as usize);
        for step in &steps {
            if let Step::Tried(model, rationale) = step {
                prop_assert!(world.ladder.contains(model) || (world.ladder.is_empty() && model == "claude"));
                prop_assert!(!rationale.is_empty());
            }
        }
        prop_assert_eq!((steps, metrics), live(&world, &failed_attempts));
    }

    #[test]
    fn str_10_faults_of_others_never_change_a_tasks_life(
        world in any_world(), failed_attempts in prop::collection::vec(any_try(), 0..40),
    ) {
        // A hint at a model that cannot be used is dropped, no matter what failed: lives without hints are compared.
        let failed_attempts: Vec<Try> = failed_attempts.into_iter().map(|happens| Try { hint: None, ..happens }).collect();
        let own: Vec<Try> = failed_attempts.iter().filter(|happens| happens.counts()).cloned().collect();
        let ((with, metrics), (without, alone)) = (live(&world, &failed_attempts), live(&world, &own));
        // A fault at the end may only let the next decision be seen that the shorter life does not reach.
        prop_assert!(with == without || with[..without.len()] == without[..] && with.len() == without.len() + 1);
        prop_assert_eq!(metrics, alone);
    }

    #[test]
    fn str_10_ladders_are_only_climbed_by_escalate_and_the_default(
        world in any_world(), failed_attempts in prop::collection::vec(any_try(), 0..40),
    ) {
        prop_assume!(matches!(world.strategy, Strategy::Escalate | Strategy::CostOptimized));
        let failed_attempts: Vec<Try> = failed_attempts.into_iter().map(|happens| Try { hint: None, ..happens }).collect();
        let rungs: Vec<usize> = live(&world, &failed_attempts)
            .0
            .iter()
            .filter_map(|step| match step {
                Step::Tried(model, _) => world.ladder.iter().position(|rung| rung == model),
                _ => None,
            })
            .collect();
        for pair in rungs.windows(2) {
            prop_assert!(pair[1] == pair[0] || pair[1] == pair[0] + 1, "{rungs:?}");
        }
    }
}
