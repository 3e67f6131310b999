//! Whole lives of tasks: what must hold for any strategy, any settings and any run of luck.

use proptest::prelude::*;
use proptest::strategy::Strategy as _;

use super::model::tests::question;
use super::*;
use crate::adaptive::{Beliefs, observe};
use crate::evidence::Verdict;
use crate::model::{Difficulty, ErrorType, Neighbour, Outcome, Recent, Strategy, TaskMetrics};
use crate::store::TaskNext;

/// What happens in one try.
#[derive(Clone, Debug)]
enum Try {
    Done,
    Fails(FailedTry),
    /// Not the task's fault.
    Fault(ErrorType),
}

fn any_try() -> impl proptest::strategy::Strategy<Value = Try> {
    let print = || proptest::option::of("[abc]");
    let fails = (
        print(),
        print(),
        any::<Option<bool>>(),
        any::<bool>(),
        proptest::option::of(0.0..9.0_f64),
    )
        .prop_map(|(coarse, fine, changed, committed, cost_usd)| {
            Try::Fails(FailedTry {
                coarse,
                fine,
                changed,
                committed,
                cost_usd,
                ..FailedTry::default()
            })
        });
    let fault = prop_oneof![
        Just(ErrorType::RateLimit),
        Just(ErrorType::Overloaded),
        Just(ErrorType::Network),
        Just(ErrorType::Auth),
        Just(ErrorType::Interrupted),
    ];
    prop_oneof![1 => Just(Try::Done), 6 => fails, 2 => fault.prop_map(Try::Fault)]
}

fn any_neighbour() -> impl proptest::strategy::Strategy<Value = Neighbour> {
    let model = || {
        prop_oneof![Just("m0"), Just("m1"), Just("m2"), Just("elsewhere")].prop_map(String::from)
    };
    let difficulty = proptest::option::of(proptest::sample::select(Difficulty::ALL.to_vec()));
    (
        0.0..1.0_f64,
        difficulty,
        prop::collection::vec(model(), 0..3),
        proptest::option::of(model()),
    )
        .prop_map(|(likeness, difficulty, failed, done)| Neighbour {
            name: "n".into(),
            likeness,
            difficulty,
            failed,
            done,
        })
}

/// What surrounds a task.
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

/// Lives a task's life until it is done, waits for a person or the tries are over.
fn live(world: &World, tries: &[Try]) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut metrics = TaskMetrics::default();
    let mut failed: Vec<FailedTry> = Vec::new();
    let mut beliefs = Beliefs::default();
    for happens in tries {
        let course = course(&failed, &world.policy);
        let decision = choose_model(&ModelQuestion {
            neighbours: &world.neighbours,
            recent: world.recent,
            attempts: metrics.total_attempts,
            tries: &failed,
            course: &course,
            worth: Worth {
                beliefs: Some(&beliefs),
                value_usd: world.value_usd,
                max_attempts: world.policy.max_attempts,
                go_ahead: false,
            },
            ..question(&world.ladder, world.strategy, metrics.consecutive_failures)
        });
        if let Some(reason) = decision.ask_human {
            steps.push(Step::Human(reason));
            return steps;
        }
        let model = decision.choice.model;
        let (outcome, error_type) = match happens {
            Try::Done => (Outcome::Done, None),
            Try::Fails(_) => (Outcome::Failed, None),
            Try::Fault(error) => (Outcome::Error, Some(error.clone())),
        };
        let counted = !matches!(happens, Try::Fault(_));
        let verdict = Verdict {
            outcome,
            error_type,
            counted,
            message: None,
            abort: false,
        };
        let after = after_attempt(&metrics, &verdict, None, None, &world.policy);
        metrics = after.metrics;
        if counted {
            steps.push(Step::Tried(model.clone(), decision.choice.rationale));
        }
        if let Try::Fails(failure) = happens {
            let view = crate::adaptive::TaskView::default();
            observe(
                &mut beliefs,
                &world.ladder,
                &view,
                &model,
                false,
                failure.cost_usd,
            );
            failed.push(FailedTry {
                model,
                ..failure.clone()
            });
        }
        match after.next {
            TaskNext::Pending => {}
            TaskNext::Done => {
                steps.push(Step::Done);
                return steps;
            }
            TaskNext::Blocked { reason } => {
                steps.push(Step::Human(reason));
                return steps;
            }
        }
    }
    steps
}

proptest! {
    #[test]
    fn str_10_any_life_ends_within_the_caps_and_on_the_ladder(
        world in any_world(), tries in prop::collection::vec(any_try(), 0..40),
    ) {
        let steps = live(&world, &tries);
        let tried = steps.iter().filter(|step| matches!(step, Step::Tried(..))).count();
        prop_assert!(tried <= world.policy.max_attempts as usize);
        let ended = matches!(steps.last(), Some(Step::Done | Step::Human(_)));
        let counted = tries.iter().filter(|happens| !matches!(happens, Try::Fault(_))).count();
        prop_assert!(ended || counted < world.policy.max_attempts as usize);
        for step in &steps {
            if let Step::Tried(model, rationale) = step {
                prop_assert!(world.ladder.contains(model) || (world.ladder.is_empty() && model == "claude"));
                prop_assert!(!rationale.is_empty());
            }
        }
        prop_assert_eq!(&steps, &live(&world, &tries));
    }

    #[test]
    fn str_10_faults_of_others_never_change_a_tasks_life(
        world in any_world(), tries in prop::collection::vec(any_try(), 0..40),
    ) {
        let own: Vec<Try> = tries.iter().filter(|happens| !matches!(happens, Try::Fault(_))).cloned().collect();
        let (with, without) = (live(&world, &tries), live(&world, &own));
        // A fault at the end may only let the next decision be seen that the shorter life does not reach.
        prop_assert!(with == without || with[..without.len()] == without[..] && with.len() == without.len() + 1);
    }

    #[test]
    fn str_10_ladders_are_only_climbed_by_escalate_and_the_default(
        world in any_world(), tries in prop::collection::vec(any_try(), 0..40),
    ) {
        prop_assume!(matches!(world.strategy, Strategy::Escalate | Strategy::CostOptimized));
        let rungs: Vec<usize> = live(&world, &tries)
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
