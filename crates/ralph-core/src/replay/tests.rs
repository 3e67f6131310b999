//! The rules of the replay, and what must hold for any outcomes.

use proptest::prelude::*;

use super::*;
use crate::adaptive::BUCKETS;

fn options(ladder: &[&str]) -> Options {
    Options { ladder: ladder.iter().map(|name| (*name).to_owned()).collect(), ..Options::default() }
}

fn row(task: &str, model: &str, success: bool, cost: f64, attempt: u32) -> Row {
    let (task, model) = (task.to_owned(), model.to_owned());
    Row { task, model, success, cost_usd: Some(cost), difficulty: None, attempt }
}

fn score<'a>(report: &'a Report, name: &str) -> &'a Score {
    report.strategies.iter().find(|score| score.name == name).unwrap()
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn first_tries_have_the_recorded_outcome() {
    let mut rows = Vec::new();
    for n in 0..10 {
        let task = format!("t{n}");
        rows.push(row(&task, "a", n < 5, 0.1, 1));
        rows.push(row(&task, "b", n < 7, 0.5, 1));
        rows.push(row(&task, "c", n < 9, 1.0, 1));
    }
    rows.push(row("half", "a", true, 9.0, 1));
    let options = Options { retry_success: 0.0, value_usd: 5.0, ..options(&["a", "b", "c"]) };
    let report = replay(&rows, &options);
    assert_eq!((report.tasks, report.skipped), (10, 1));
    let strongest = score(&report, "always-strongest");
    assert!(near(strongest.solved, 0.9) && near(strongest.cost_per_task, 1.0));
    assert!(near(strongest.loss, 1.5));
    let fixed = score(&report, "fixed");
    assert!(near(fixed.solved, 0.7) && near(fixed.cost_per_task, 0.5 * (7.0 + 4.0 * 3.0) / 10.0));
    let escalate = score(&report, "escalate");
    assert!(near(escalate.cost_per_task, (10.0 * 0.1 + 5.0 * 0.5 + 3.0 + 1.0) / 10.0));
    let planned = score(&report, "plan-then-execute");
    assert!(near(planned.cost_per_task, (10.0 + 3.0 * 0.5) / 10.0));
    let optimized = score(&report, "cost-optimized");
    assert!(near(optimized.cost_per_task, (5.0 + 3.0 * 0.5 + 3.0 + 1.0) / 10.0));
    assert_eq!(report.best_fixed.sequence, ["a", "c"]);
    assert!(near(report.oracle.cost_per_task, (0.5 + 2.0 * 0.5 + 2.0) / 10.0));
    assert!(near(report.oracle.solved, 0.9));
    let names: Vec<&str> = report.strategies.iter().map(|score| score.name.as_str()).collect();
    assert_eq!(
        names,
        ["fixed", "escalate", "cost-optimized", "plan-then-execute", "adaptive", "always-strongest"]
    );
}

#[test]
fn recorded_retries_come_before_luck() {
    let rows = [row("t", "a", true, 0.3, 5), row("t", "a", false, 0.2, 2), row("t", "a", false, 0.9, 2)];
    let options = Options { retry_success: 0.0, ..options(&["a"]) };
    let report = replay(&rows, &options);
    assert!(near(score(&report, "fixed").cost_per_task, 0.5));
    assert!(near(score(&report, "fixed").solved, 1.0));
}

#[test]
fn retries_succeed_as_often_as_said_and_alike_for_all() {
    let rows: Vec<Row> = (0..4000).map(|n| row(&format!("t{n}"), "a", false, 0.1, 1)).collect();
    let options = options(&["a"]);
    let world = World::new(&rows, &options);
    let twice = play_sequence(&world, &options, "twice", &[0, 0]).solved;
    let thrice = play_sequence(&world, &options, "thrice", &[0, 0, 0]).solved;
    assert!((twice - 0.17).abs() < 0.02, "{twice}");
    assert!((thrice - (0.17 + 0.83 * 0.085)).abs() < 0.02, "{thrice}");
    assert_eq!(replay(&rows, &options), replay(&rows, &options));
    let other = Options { seed: 1, ..options.clone() };
    assert_ne!(play_sequence(&World::new(&rows, &other), &other, "twice", &[0, 0]).solved, twice);
}

#[test]
fn an_unrecorded_cost_is_the_models_mean() {
    let mut rows = vec![row("t", "a", true, 0.2, 1), row("u", "a", true, 0.4, 1)];
    rows.push(Row { cost_usd: None, ..row("v", "a", true, 0.0, 1) });
    let report = replay(&rows, &options(&["a"]));
    assert!(near(report.oracle.cost_per_task, 0.3));
}

#[test]
fn nothing_to_play_is_no_division_by_zero() {
    for ladder in [&[][..], &["a"][..]] {
        let report = replay(&[], &options(ladder));
        assert_eq!((report.tasks, report.oracle.loss), (0, 0.0));
        assert!(report.strategies.iter().all(|score| score.loss == 0.0));
    }
}

#[test]
fn not_to_try_may_be_best() {
    let rows = [row("t", "a", false, 3.0, 1)];
    let report = replay(&rows, &Options { value_usd: 1.0, ..options(&["a"]) });
    assert!(report.best_fixed.sequence.is_empty());
    assert!(near(report.best_fixed.score.loss, 1.0));
}

proptest! {
    #[test]
    fn nobody_beats_the_oracle_and_no_fixed_one_the_best(
        outcomes in prop::collection::vec((any::<bool>(), 0.0..3.0_f64, any::<bool>(), 0.0..3.0_f64, 0..6_usize), 1..30),
        value in 0.0..20.0_f64, attempts in 0..5_u32, seed in any::<u64>(),
    ) {
        let mut rows = Vec::new();
        for (n, (a, cost_a, b, cost_b, bucket)) in outcomes.iter().enumerate() {
            let task = format!("t{n}");
            let difficulty = BUCKETS[*bucket];
            rows.push(Row { difficulty, ..row(&task, "a", *a, *cost_a, 1) });
            rows.push(Row { difficulty, ..row(&task, "b", *b, *cost_b, 1) });
        }
        let options = Options { value_usd: value, attempts, seed, ..options(&["a", "b"]) };
        let report = replay(&rows, &options);
        for score in &report.strategies {
            prop_assert!(score.loss.is_finite());
            prop_assert!(score.loss >= report.oracle.loss - 1e-9, "{} {}", score.loss, report.oracle.loss);
            prop_assert!(near(score.loss, score.cost_per_task + value * (1.0 - score.solved)));
            if score.name != "adaptive" {
                prop_assert!(score.loss >= report.best_fixed.score.loss - 1e-9);
            }
        }
        prop_assert!(report.best_fixed.score.loss >= report.oracle.loss - 1e-9);
    }
}
