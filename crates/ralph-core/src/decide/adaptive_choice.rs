//! `adaptive`: the plan with the least expected loss, or a person where no plan is worth its cost.

use super::model_choice::{Decision, ModelQuestion};
use crate::adaptive::{Beliefs, DEFAULT_VALUE_USD, Failure, TaskView, plan};
use crate::model::NO_MODEL;

#[derive(Clone, Copy, Debug)]
pub struct AdaptiveInputs<'a> {
    /// What was learned; none where nobody asked for it.
    pub beliefs: Option<&'a Beliefs>,
    pub value_usd: f64,
    /// Counted failures in a row after which a person is asked in any case.
    pub max_attempts: u32,
}

impl Default for AdaptiveInputs<'_> {
    fn default() -> Self {
        Self {
            beliefs: None,
            value_usd: DEFAULT_VALUE_USD,
            max_attempts: super::Policy::default().max_attempts,
        }
    }
}

pub fn task_view(question: &ModelQuestion<'_>) -> TaskView {
    let mut failures: Vec<Failure> = Vec::new();
    for (number, failed) in question.failed_attempts.iter().enumerate() {
        if failed.model == NO_MODEL {
            continue;
        }
        let earlier = question.failed_attempts.get(..number).unwrap_or_default();
        let same_again = failed.coarse.is_some() && earlier.iter().any(|other| other.coarse == failed.coarse);
        let repeats = failed.coarse.is_some()
            && earlier.iter().any(|other| other.model == failed.model && other.coarse == failed.coarse);
        let known = failures.iter_mut().find(|known| known.model == failed.model);
        if let Some(known) = known {
            known.times = known.times.saturating_add(1);
            known.same_again = same_again;
            known.repeats |= repeats;
            known.cost = failed.cost_usd.or(known.cost);
        } else {
            failures.push(Failure {
                model: failed.model.clone(),
                times: 1,
                same_again,
                repeats,
                cost: failed.cost_usd,
            });
        }
    }
    TaskView {
        difficulty: question.difficulty,
        similar: question.neighbours.to_vec(),
        failures,
        attempts_left: question.adaptive.max_attempts.saturating_sub(question.failures),
    }
}

/// The model to try next, and whether to try at all. What has not failed yet is tried once, whatever it may cost: a plan
/// is there to be worked on. Where no attempt's cost is known, costs are guesses: no task is given up for them before
/// `max_attempts`, and no weaker model is asked again because it might be cheap.
pub(super) fn choose(question: &ModelQuestion<'_>) -> Decision {
    let cold = Beliefs::default();
    let beliefs = question.adaptive.beliefs.unwrap_or(&cold);
    let mut view = task_view(question);
    // One attempt is always left to a task that is still to be tried.
    view.attempts_left = view.attempts_left.max(1);
    let knows_costs = knows_costs(beliefs, question.ladder, &view);
    let ladder = if knows_costs { question.ladder } else { from_highest_failed(question.ladder, &view) };
    let plan = plan(beliefs, ladder, &view, question.adaptive.value_usd);
    let strongest = ladder.len().saturating_sub(1);
    let rung = plan.sequence.first().copied().or(plan.best);
    let model = ladder.get(rung.unwrap_or(strongest));
    let model = model.map_or("", String::as_str);
    if !plan.ask_human {
        return Decision::try_with(model, plan.rationale);
    }
    // A fix task begins with the failures of the task it is to fix.
    if question.failures == 0 || question.attempts == 0 {
        return Decision::try_with(model, "adaptive: low expected value, but every task gets one attempt");
    }
    Decision {
        ask_human: Some(plan.rationale).filter(|_| knows_costs),
        ..Decision::try_with(model, "adaptive: best available model")
    }
}

fn from_highest_failed<'l>(ladder: &'l [String], view: &TaskView) -> &'l [String] {
    let failed = |model: &String| view.failures.iter().any(|known| known.model == *model);
    let highest = ladder.iter().rposition(failed).unwrap_or(0);
    ladder.get(highest..).unwrap_or_default()
}

/// Whether anything is known of what attempts cost. A price alone is not enough: the agent may count no tokens.
fn knows_costs(beliefs: &Beliefs, ladder: &[String], view: &TaskView) -> bool {
    let known = ladder.iter().filter_map(|model| beliefs.models.get(model));
    view.failures.iter().any(|failure| failure.cost.is_some())
        || known.into_iter().any(|seen| seen.cost_count > 0 || seen.cost_zeros > 0)
}

#[cfg(test)]
mod tests {
    use super::super::FailedAttempt;
    use super::super::model_choice::tests::{ladder, question};
    use super::*;
    use crate::decide::choose_model;
    use crate::model::{Difficulty, Neighbour, Strategy};

    fn failed(model: &str, coarse: &str) -> FailedAttempt {
        FailedAttempt {
            model: model.into(),
            coarse: Some(coarse.into()),
            cost_usd: Some(2.0),
            ..FailedAttempt::default()
        }
    }

    #[test]
    fn failures_are_seen_by_model_and_gates_of_parents_not_at_all() {
        let ladder = ladder();
        let failed_attempts =
            [failed(NO_MODEL, "a"), failed("haiku", "a"), failed("sonnet", "b"), failed("sonnet", "b")];
        let mut question = question(&ladder, Strategy::Adaptive, 4);
        question.failed_attempts = &failed_attempts;
        let view = task_view(&question);
        let seen: Vec<(&str, u32, bool)> = view
            .failures
            .iter()
            .map(|failure| (failure.model.as_str(), failure.times, failure.same_again))
            .collect();
        assert_eq!(seen, [("haiku", 1, true), ("sonnet", 2, true)]);
        assert_eq!(view.attempts_left, 1);
    }

    #[test]
    fn a_cold_start_tries_the_cheapest_and_gives_up_when_nothing_is_worth_it() {
        let ladder = ladder();
        let first = choose_model(&question(&ladder, Strategy::Adaptive, 0));
        assert_eq!(first.choice.model, "haiku");
        assert_eq!(first.ask_human, None);
        let failed_attempts = [failed("haiku", "a"), failed("sonnet", "a"), failed("opus", "a")];
        let mut hopeless = question(&ladder, Strategy::Adaptive, 3);
        hopeless.failed_attempts = &failed_attempts;
        hopeless.adaptive.value_usd = 1.0;
        let decision = choose_model(&hopeless);
        let reason = decision.ask_human.expect("a person");
        assert!(reason.starts_with("no attempt is worth its cost: even "), "{reason}");
        assert!(reason.ends_with(" for a task worth $1.00 (value_usd)"), "{reason}");
    }

    /// What adaptive does with a task that fails in its own way every time, on an empty database.
    fn failing_models(costs: [Option<f64>; 3], same_failure: bool) -> Vec<String> {
        let ladder = ladder();
        let mut failed_attempts: Vec<FailedAttempt> = Vec::new();
        let mut models = Vec::new();
        for failures in 0..5 {
            let mut q = question(&ladder, Strategy::default(), failures);
            q.failed_attempts = &failed_attempts;
            let decision = choose_model(&q);
            if decision.ask_human.is_some() {
                break;
            }
            let model = decision.choice.model;
            let rung = ladder.iter().position(|rung| *rung == model).unwrap();
            let coarse = if same_failure { 0 } else { failures };
            failed_attempts
                .push(FailedAttempt { cost_usd: costs[rung], ..failed(&model, &coarse.to_string()) });
            models.push(model);
        }
        models
    }

    #[test]
    fn a_cold_start_begins_cheap_reaches_the_strongest_and_without_costs_never_gives_up_early() {
        let told = [Some(0.1), Some(0.4), Some(1.5)];
        for same_failure in [false, true] {
            for costs in [told, [None; 3]] {
                let models = failing_models(costs, same_failure);
                assert_eq!(models[0], "haiku", "{models:?}");
                assert!(models.iter().any(|model| model == "opus"), "{models:?}");
                if costs == [None; 3] {
                    assert_eq!(models.len(), 5, "{models:?}");
                    let rung = |model: &String| ladder().iter().position(|rung| rung == model);
                    assert!(models.is_sorted_by_key(rung), "{models:?}");
                }
            }
        }
    }

    #[test]
    fn a_task_that_has_not_failed_is_tried_once_whatever_it_is_worth() {
        let ladder = ladder();
        let mut q = question(&ladder, Strategy::Adaptive, 0);
        q.adaptive.value_usd = 0.001;
        let decision = choose_model(&q);
        assert_eq!(decision.ask_human, None);
        assert_eq!(
            decision.choice.rationale,
            "adaptive: low expected value, but every task gets one attempt"
        );
        let failed_attempts = [failed("haiku", "a")];
        let mut q = question(&ladder, Strategy::Adaptive, 1);
        q.adaptive.value_usd = 0.001;
        q.failed_attempts = &failed_attempts;
        assert!(choose_model(&q).ask_human.is_some());
    }

    #[test]
    fn str_07_after_a_task_like_it_failed_the_adaptive_strategy_starts_higher() {
        let ladder = ladder();
        let like = Neighbour {
            name: "1.2".into(),
            likeness: 0.9,
            difficulty: Some(Difficulty::Hard),
            failed: vec!["haiku".into()],
            done: Some("opus".into()),
        };
        let mut beliefs = Beliefs::default();
        // Nearly as expensive as the next one: only its chances speak for it.
        beliefs.set_prices(&ladder, [("haiku", 20.0), ("sonnet", 22.0), ("opus", 24.0)]);
        let near = vec![like; 4];
        let mut q = question(&ladder, Strategy::Adaptive, 0);
        q.adaptive.beliefs = Some(&beliefs);
        let alone = choose_model(&q).choice;
        q.neighbours = &near;
        let warned = choose_model(&q).choice;
        let rung = |model: &str| ladder.iter().position(|rung| rung == model);
        assert!(rung(&warned.model) > rung(&alone.model), "{alone:?} {warned:?}");
    }
}
