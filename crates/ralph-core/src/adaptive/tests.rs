//! The decisions people would expect.

use std::time::Duration;

use super::*;
use crate::model::{Difficulty, Neighbour};
use crate::testing::cpu_time;

pub(super) fn ladder(rungs: usize) -> Vec<String> {
    (0..rungs).map(|rung| format!("m{rung}")).collect()
}

pub(super) fn fresh(attempts_left: u32) -> TaskView {
    TaskView { attempts_left, ..TaskView::default() }
}

/// Learns of an attempt whose task's estimate did not change.
pub(super) fn saw(
    beliefs: &mut Beliefs,
    ladder: &[String],
    view: &TaskView,
    model: &str,
    success: bool,
    cost: Option<f64>,
) {
    let seen = Seen { model, success, cost, estimate: view.difficulty };
    observe(beliefs, ladder, view, &seen);
}

pub(super) fn failed(model: &str, times: u32, attempts_left: u32) -> TaskView {
    let failure = Failure { model: model.to_owned(), times, ..Failure::default() };
    TaskView { failures: vec![failure], attempts_left, ..TaskView::default() }
}

/// Ladder of three after so many first tries of each, with that many successes in ten and that cost.
fn seasoned(record: [(u32, f64); 3]) -> Beliefs {
    let ladder = ladder(3);
    let mut beliefs = Beliefs::default();
    for n in 0..40 {
        for (model, (successes, cost)) in ladder.iter().zip(record) {
            saw(&mut beliefs, &ladder, &fresh(4), model, n % 10 < successes, Some(cost));
        }
    }
    beliefs
}

fn names(plan: &Plan) -> Vec<usize> {
    plan.sequence.clone()
}

#[test]
fn a_cold_start_begins_at_the_bottom_and_says_so() {
    let ladder = ["haiku", "sonnet", "opus"].map(String::from);
    let plan = plan(&Beliefs::default(), &ladder, &fresh(4), DEFAULT_VALUE_USD);
    assert_eq!(plan.sequence[0], 0);
    assert!(plan.sequence.len() > 1 && !plan.ask_human);
    assert_eq!(plan.rationale, "adaptive: haiku (60% chance), then sonnet, then opus");
}

#[test]
fn the_cheap_model_that_is_the_most_expensive_is_noticed() {
    let beliefs = seasoned([(6, 2.1), (7, 1.9), (9, 1.5)]);
    for value in [3.0, 5.0, 15.0] {
        assert_eq!(plan(&beliefs, &ladder(3), &fresh(4), value).sequence[0], 2);
    }
}

#[test]
fn a_cheap_model_that_is_nearly_as_good_goes_first() {
    let beliefs = seasoned([(7, 0.1), (7, 1.0), (8, 1.3)]);
    assert_eq!(plan(&beliefs, &ladder(3), &fresh(4), 5.0).sequence[0], 0);
}

#[test]
fn a_failure_makes_all_models_less_likely_and_a_repeated_one_the_same_model() {
    let beliefs = seasoned([(7, 0.1), (7, 1.0), (8, 1.3)]);
    let chance = |view: &TaskView, model: &str| {
        plan(&beliefs, &[model.to_owned()], &TaskView { attempts_left: 1, ..view.clone() }, 1e6).success
    };
    assert!(chance(&failed("m0", 1, 3), "m2") < chance(&fresh(4), "m2"));
    assert!(chance(&failed("m0", 2, 3), "m0") < chance(&failed("m0", 1, 3), "m0"));
    let mut same = failed("m0", 2, 3);
    same.failures[0].same_again = true;
    assert!(chance(&same, "m0") < chance(&failed("m0", 2, 3), "m0"));
}

#[test]
fn a_model_that_failed_twice_in_the_same_way_is_not_asked_again() {
    let mut view = failed("m0", 2, 5);
    view.failures[0].repeats = true;
    let plan = plan(&Beliefs::default(), &ladder(2), &view, 100.0);
    assert!(!plan.sequence.is_empty() && plan.sequence.iter().all(|rung| *rung == 1));
    let alone = super::plan(&Beliefs::default(), &ladder(1), &view, 100.0);
    assert_eq!(alone.rationale, "adaptive: every model failed twice in the same way");
}

#[test]
fn what_an_agent_never_tells_is_not_hoped_for() {
    let ladder = ladder(1);
    let mut beliefs = Beliefs::default();
    saw(&mut beliefs, &ladder, &fresh(4), "m0", false, None);
    let guess = plan(&beliefs, &ladder, &fresh(1), 1e6).cost;
    let worth = |value: f64| !plan(&beliefs, &ladder, &fresh(1), value).ask_human;
    let chance = plan(&beliefs, &ladder, &fresh(1), 1e6).success;
    assert!(worth(1.05 * guess / chance) && !worth(0.95 * guess / chance));
}

#[test]
fn a_dear_failure_makes_the_retry_dear() {
    let beliefs = seasoned([(7, 0.1), (7, 1.0), (8, 1.3)]);
    let mut view = failed("m1", 1, 1);
    let cost = |view: &TaskView| plan(&beliefs, &ladder(3)[1..2], view, 1e6).cost;
    let usual = cost(&view);
    view.failures[0].cost = Some(6.0);
    assert!(cost(&view) > 4.0 * usual);
}

#[test]
fn worth_nothing_asks_a_human_unless_trying_is_free() {
    let ladder = ladder(3);
    let asked = plan(&Beliefs::default(), &ladder, &fresh(4), 0.0);
    assert!(asked.ask_human && asked.sequence.is_empty() && asked.cost == 0.0);
    assert!(asked.rationale.starts_with("no attempt is worth its cost: even "));
    let mut local = Beliefs::default();
    local.set_prices(&ladder, [("m1", 0.0)]);
    assert_eq!(plan(&local, &ladder, &fresh(4), 0.0).sequence[0], 1);
    let mut unpriced = Beliefs::default();
    saw(&mut unpriced, &ladder, &fresh(4), "m2", false, Some(0.0));
    assert_eq!(plan(&unpriced, &ladder, &fresh(4), 0.0).sequence[0], 2);
}

#[test]
fn a_hopeless_task_goes_to_a_human_before_the_attempts_are_used_up() {
    let mut beliefs = Beliefs::default();
    let ladder = ladder(3);
    let mut view = fresh(5);
    for (n, model) in ladder.iter().enumerate() {
        saw(&mut beliefs, &ladder, &view, model, false, Some(1.0));
        view.failures.push(Failure { model: model.clone(), times: 1, cost: Some(1.0), ..Failure::default() });
        view.attempts_left = 4 - u32::try_from(n).unwrap();
    }
    assert!(plan(&beliefs, &ladder, &view, 3.0).ask_human);
    assert!(!plan(&beliefs, &ladder, &view, 100.0).ask_human);
}

#[test]
fn without_attempts_or_models_a_human_is_asked() {
    let none = plan(&Beliefs::default(), &ladder(3), &fresh(0), 5.0);
    assert_eq!((none.ask_human, none.rationale.as_str()), (true, "adaptive: no attempts left"));
    assert!(plan(&Beliefs::default(), &[], &fresh(4), 5.0).ask_human);
}

#[test]
fn similar_tasks_move_the_expectation() {
    let beliefs = Beliefs::default();
    let chance = |similar: &[Neighbour]| {
        let view = TaskView { similar: similar.to_vec(), ..fresh(1) };
        plan(&beliefs, &ladder(1), &view, 100.0).success
    };
    let like = |difficulty, failed: &[&str], done: Option<&str>, likeness| Neighbour {
        name: "t".into(),
        difficulty,
        failed: failed.iter().map(|model| (*model).to_owned()).collect(),
        done: done.map(str::to_owned),
        likeness,
    };
    let alone = chance(&[]);
    assert!(chance(&[like(Some(Difficulty::Easy), &[], None, 0.9)]) > alone);
    assert!(chance(&[like(Some(Difficulty::Hard), &[], None, 0.9)]) < alone);
    assert!(chance(&[like(None, &["m0"], None, 0.9)]) < alone);
    assert!(chance(&[like(None, &[], Some("m0"), 0.9)]) > alone);
    for nothing in [f64::NAN, 0.0, -1.0] {
        assert_eq!(chance(&[like(Some(Difficulty::Hard), &["m0"], None, nothing)]), alone);
    }
}

#[test]
fn given_prices_order_models_nobody_tried() {
    let ladder = ladder(2);
    let mut beliefs = Beliefs::default();
    beliefs.set_prices(&ladder, [("m0", 50.0), ("m1", 2.0)]);
    assert_eq!(plan(&beliefs, &ladder, &fresh(3), 5.0).sequence[0], 1);
}

#[test]
fn beliefs_survive_being_stored() {
    let beliefs = seasoned([(7, 0.1), (7, 1.0), (8, 1.3)]);
    let text = serde_json::to_string(&beliefs).unwrap();
    let back: Beliefs = serde_json::from_str(&text).unwrap();
    let view = failed("m0", 1, 3);
    let (a, b) = (plan(&beliefs, &ladder(3), &view, 5.0), plan(&back, &ladder(3), &view, 5.0));
    assert_eq!(names(&a), names(&b));
}

#[test]
fn the_search_is_as_good_as_trying_all_sequences() {
    use super::sequence::{Rung, search};
    use super::task::{Weights, dot};
    let task = super::task::normal(0.5, 3.0);
    let first = |ability: f64| super::task::points().map(|point| super::task::chance(ability, 0.1, point));
    let rung = |ability: f64, cost: f64| Rung {
        cost: super::costs::Cost { mean: cost, hoped: cost },
        chances: vec![first(ability), [0.17; 17], [0.085; 17], [0.0425; 17]],
    };
    let rungs = [rung(1.0, 0.3), rung(1.5, 0.8), rung(2.5, 1.5)];
    for value in [0.5, 1.0, 2.0, 5.0, 15.0, 100.0] {
        let mut least: f64 = value;
        for number in 0..4_u32.pow(4) {
            let (mut weights, mut loss, mut tried): (Weights, f64, [usize; 3]) = (task, 0.0, [0; 3]);
            for place in 0..4 {
                // 3 stands for giving up; a gap is as good as a shorter sequence.
                let Some(rung) = rungs.get((number / 4_u32.pow(place) % 4) as usize) else { continue };
                let own = (number / 4_u32.pow(place) % 4) as usize;
                loss += weights.iter().sum::<f64>() * rung.cost.mean;
                for (weight, chance) in weights.iter_mut().zip(rung.chances[tried[own]]) {
                    *weight *= 1.0 - chance;
                }
                tried[own] += 1;
            }
            least = least.min(loss + value * dot(&weights, &[1.0; 17]));
        }
        let found = search(&rungs, &task, 4, value);
        let loss = found.cost + value * (1.0 - found.success);
        assert!((loss - least).abs() < 1e-9, "{value}: {loss} {least}");
    }
}

#[test]
fn a_decision_is_fast_for_long_ladders() {
    for (rungs, attempts) in [(8, 5), (40, 20)] {
        let ladder = ladder(rungs);
        let mut beliefs = Beliefs::default();
        beliefs.add_models(&ladder);
        let best = (0..5).map(|_| {
            let start = cpu_time();
            assert!(!plan(&beliefs, &ladder, &fresh(attempts), 1e6).sequence.is_empty());
            cpu_time() - start
        });
        // Without optimisation; with it, a fifth of a millisecond.
        assert!(best.min().unwrap() < Duration::from_millis(50));
    }
}

/// How many tasks a bucket holds, and how hard they are on average.
fn bucket(beliefs: &Beliefs, difficulty: Difficulty) -> (f64, f64) {
    let tasks = &beliefs.bucket(Some(difficulty)).unwrap().tasks;
    let all: f64 = tasks.iter().sum();
    let points = super::task::points();
    (all, tasks.iter().zip(points).map(|(n, at)| n * at).sum::<f64>() / all)
}

#[test]
fn a_task_enters_the_bucket_of_the_estimate_its_attempt_brought() {
    let ladder = ladder(1);
    let cold = Beliefs::default();
    for (success, estimate) in [(true, Difficulty::Easy), (false, Difficulty::Hard)] {
        let mut beliefs = cold.clone();
        let (before, was) = bucket(&beliefs, estimate);
        for _ in 0..12 {
            let seen = Seen { model: "m0", success, cost: None, estimate: Some(estimate) };
            observe(&mut beliefs, &ladder, &fresh(4), &seen);
        }
        let (after, is) = bucket(&beliefs, estimate);
        assert!((after - before - 12.0).abs() < 1e-6, "{before} {after}");
        assert!(if success { is < was + 1.0 } else { is > was }, "{estimate}: {was} {is}");
    }
    // A retry moves its task; another estimate takes it elsewhere.
    let mut beliefs = cold;
    let seen = |estimate| Seen { model: "m0", success: false, cost: None, estimate: Some(estimate) };
    observe(&mut beliefs, &ladder, &fresh(4), &seen(Difficulty::Hard));
    let view = TaskView { difficulty: Some(Difficulty::Hard), ..failed("m0", 1, 3) };
    observe(&mut beliefs, &ladder, &view, &seen(Difficulty::Hard));
    assert!((bucket(&beliefs, Difficulty::Hard).0 - 9.0).abs() < 1e-6);
    observe(&mut beliefs, &ladder, &view, &seen(Difficulty::Easy));
    assert!((bucket(&beliefs, Difficulty::Hard).0 - 8.0).abs() < 1e-6);
    assert!((bucket(&beliefs, Difficulty::Easy).0 - 9.0).abs() < 1e-6);
}
