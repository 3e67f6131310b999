//! Which suggestion wins where several apply, and how long it may get.

use super::{failed, ladder};
use crate::analysis::{Fact, Surroundings, analyze};

fn suggestion(facts: &[Fact]) -> String {
    analyze(facts, &ladder()).suggestion
}

#[test]
fn ana_03_a_test_that_fails_under_two_models_comes_before_the_gate() {
    let with = |task: &str, model: &str| Fact {
        coarse: Some("a".into()),
        gate: Some("make".into()),
        failing: vec!["t::one".into()],
        ..failed(task, model, "exited with code 2")
    };
    assert_eq!(
        suggestion(&[with("1.1", "opus"), with("1.2", "haiku")]),
        "`t::one` fails with haiku and opus: the task or the test may be wrong"
    );
    assert!(suggestion(&[with("1.1", "opus"), with("1.2", "opus")]).starts_with("run `make` yourself"));
}

#[test]
fn ana_03_a_service_that_fails_comes_before_the_only_task() {
    let around = Surroundings { recent_uncounted: vec![("overloaded".into(), 3)], ..ladder() };
    let advice = analyze(&[failed("1.1", "opus", "error: a")], &around).suggestion;
    assert_eq!(advice, "try again later: the agent's API is overloaded");
}

#[test]
fn ana_03_one_build_error_is_no_pattern() {
    let one = failed("1.1", "opus", "error[E0433]: x");
    assert!(suggestion(std::slice::from_ref(&one)).starts_with("only 1.1 fails"));
    assert_eq!(suggestion(&[one.clone(), one]), "fix the build first: it fails (E0433)");
}

#[test]
fn a_suggestion_is_bounded_and_names_do_not_end_its_code() {
    let facts = ["`a` ", "`b` ", "`c` "].map(|task| Fact {
        coarse: Some("a".into()),
        gate: Some("make `x` ".repeat(30)),
        ..failed(&task.repeat(20), "opus", "error: a")
    });
    let advice = suggestion(&facts);
    assert!(advice.chars().count() <= 240, "{advice}");
    assert!(advice.ends_with('…'), "{advice}");
    assert_eq!(advice.matches('`').count(), 2, "{advice}");
}
