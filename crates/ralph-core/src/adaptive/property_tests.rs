//! What must hold for any history.

use proptest::prelude::*;

use super::tests::{failed, fresh, ladder, saw};
use super::*;
use crate::model::Difficulty;

type Seen = (usize, usize, u32, bool, Option<f64>);

fn history() -> impl Strategy<Value = Vec<Seen>> {
    let cost = prop_oneof![
        4 => (0.0..20.0_f64).prop_map(Some),
        1 => Just(None),
        1 => prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(-1.0), Just(0.0), Just(1e300), Just(1e-300)].prop_map(Some),
    ];
    prop::collection::vec((0..4_usize, 0..6_usize, 0..4_u32, any::<bool>(), cost), 0..60)
}

fn learned(history: &[Seen], ladder: &[String]) -> Beliefs {
    let mut beliefs = Beliefs::default();
    for (model, bucket, failures, success, cost) in history {
        let mut view = TaskView { difficulty: BUCKETS[*bucket], ..fresh(3) };
        if *failures > 0 {
            let failure = Failure {
                model: ladder[(*model + *failures as usize) % ladder.len()].clone(),
                times: *failures,
                same_again: *success,
                cost: *cost,
                ..Failure::default()
            };
            view.failures.push(failure);
        }
        saw(&mut beliefs, ladder, &view, &format!("m{model}"), *success, *cost);
    }
    beliefs
}

proptest! {
    #[test]
    fn any_history_gives_a_finite_plan_within_the_caps(
        history in history(), attempts in 0..9_u32, value in prop_oneof![0.0..50.0_f64, Just(f64::NAN), Just(f64::INFINITY), Just(-3.0)],
        bucket in 0..6_usize, times in 0..30_u32,
    ) {
        // m3 is observed but not on the ladder.
        let ladder = ladder(3);
        let beliefs = learned(&history, &ladder);
        let mut view = failed("m1", times, attempts);
        view.difficulty = BUCKETS[bucket];
        let plan = plan(&beliefs, &ladder, &view, value);
        prop_assert!(plan.sequence.len() <= attempts as usize);
        prop_assert!(plan.sequence.iter().all(|rung| *rung < 3));
        prop_assert!((0.0..=1.0).contains(&plan.success));
        prop_assert!(plan.cost.is_finite() && plan.cost >= 0.0 && plan.loss.is_finite());
        prop_assert_eq!(plan.ask_human, plan.sequence.is_empty());
        prop_assert_eq!(plan.clone(), super::plan(&beliefs, &ladder, &view, value));
    }

    #[test]
    fn damaged_rows_do_no_harm(ability in any::<f64>(), variance in any::<f64>(), cost in any::<f64>(), squares in any::<f64>(), retry in any::<f64>(), tasks in any::<f64>()) {
        let ladder = ladder(2);
        let mut beliefs = learned(&[(0, 1, 0, true, Some(1.0))], &ladder);
        let belief = beliefs.models.get_mut("m0").unwrap();
        (belief.ability, belief.variance, belief.cost_mean, belief.cost_squares) = (ability, variance, cost, squares);
        beliefs.retry_tries = retry;
        beliefs.buckets[1].tasks = vec![tasks; 3];
        beliefs.buckets[1].cost_sum = cost;
        for _ in 0..2 {
            let view = TaskView { difficulty: Some(Difficulty::Easy), ..failed("m0", 1, 3) };
            let plan = plan(&beliefs, &ladder, &view, 5.0);
            prop_assert!(plan.loss.is_finite() && plan.cost >= 0.0 && (0.0..=1.0).contains(&plan.success));
            saw(&mut beliefs, &ladder, &view, "m0", true, Some(1.0));
            saw(&mut beliefs, &ladder, &fresh(1), "m0", false, Some(1.0));
        }
    }

    #[test]
    fn a_success_never_lowers_a_models_rank(history in history(), model in 0..3_usize, bucket in 0..6_usize) {
        let ladder = ladder(3);
        let before = learned(&history, &ladder);
        let mut before = before;
        before.add_models(&ladder);
        let mut after = before.clone();
        let view = TaskView { difficulty: BUCKETS[bucket], ..fresh(1) };
        saw(&mut after, &ladder, &view, &ladder[model], true, None);
        prop_assert!(after.models[&ladder[model]].ability >= before.models[&ladder[model]].ability);
        for other in ladder.iter().filter(|name| **name != ladder[model]) {
            prop_assert_eq!(&after.models[other], &before.models[other]);
        }
        let chance = |beliefs: &Beliefs| plan(beliefs, &ladder[model..=model], &view, 1e9).success;
        prop_assert!(chance(&after) >= chance(&before) - 1e-3);
    }

    #[test]
    fn a_huge_value_tries_as_long_as_allowed(history in history(), attempts in 0..6_u32) {
        let ladder = ladder(3);
        let mut history = history;
        history.iter_mut().for_each(|seen| seen.4 = seen.4.filter(|cost| *cost < 100.0));
        let beliefs = learned(&history, &ladder);
        prop_assert_eq!(plan(&beliefs, &ladder, &fresh(attempts), 1e9).sequence.len(), attempts as usize);
    }

    #[test]
    fn what_is_more_expensive_and_weaker_never_goes_first(
        history in history(), value in 0.1..50.0_f64, attempts in 1..6_u32, less in 0.01..3.0_f64, more in 0.01..3.0_f64, first in any::<bool>(),
    ) {
        let ladder = ladder(3);
        let mut beliefs = learned(&history, &ladder);
        beliefs.add_models(&ladder);
        // As much is known of the one as of the other.
        saw(&mut beliefs, &ladder, &fresh(1), "m0", true, Some(1.0));
        let better = beliefs.models["m0"].clone();
        let worse = ModelBelief { ability: better.ability - less, cost_mean: better.cost_mean + more, price: None, ..better.clone() };
        let (a, b) = if first { (worse, better) } else { (better, worse) };
        beliefs.models.insert("m0".to_owned(), a);
        beliefs.models.insert("m1".to_owned(), b);
        let (worse, better) = if first { (0, 1) } else { (1, 0) };
        // Guesses by rung still count a little: more expensive is what is expected to be.
        let cost = |rung| super::costs::expected(&beliefs, &ladder, rung, &fresh(attempts)).hoped;
        prop_assume!(cost(worse) > cost(better));
        let plan = plan(&beliefs, &ladder, &fresh(attempts), value);
        prop_assert_ne!(plan.sequence.first(), Some(&worse));
    }
}
