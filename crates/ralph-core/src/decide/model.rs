//! Which model the next attempt gets, and why.

use super::Course;
use crate::model::{ModelChoice, Strategy};

/// All that the choice depends on.
#[derive(Clone, Debug)]
pub struct ModelQuestion<'a> {
    /// The agent's name, which is its model where it has none.
    pub agent: &'a str,
    /// Its models, cheapest first.
    pub ladder: &'a [String],
    /// How to choose.
    pub strategy: Strategy,
    /// `--model`: wins over everything.
    pub forced: Option<&'a str>,
    /// What the last attempt asked for.
    pub hinted: Option<&'a str>,
    /// The task's own model.
    pub of_task: Option<&'a str>,
    /// The settings' model: where a strategy starts.
    pub configured: Option<&'a str>,
    /// Counted attempts on the task so far.
    pub attempts: u32,
    /// Counted failures in a row.
    pub failures: u32,
    /// What they show.
    pub course: &'a Course,
}

/// Chooses. Equal questions get equal answers.
pub fn choose_model(question: &ModelQuestion<'_>) -> ModelChoice {
    let choice = |model: &str, rationale: &str| ModelChoice {
        model: model.to_owned(),
        rationale: rationale.to_owned(),
    };
    if let Some(model) = question.forced {
        return choice(model, "given on the command line");
    }
    if let Some(model) = question.hinted {
        return choice(model, "hinted by previous iteration");
    }
    if let Some(model) = question.of_task {
        return choice(model, "the task's own model");
    }
    let ladder = question.ladder;
    if ladder.is_empty() {
        let model = question.configured.unwrap_or(question.agent);
        return choice(model, "the agent's only model");
    }
    let middle = (ladder.len() - 1) / 2;
    let top = ladder.len() - 1;
    let start = match question.configured {
        None => middle,
        Some(model) => match ladder.iter().position(|rung| rung == model) {
            Some(rung) => rung,
            // Not on the ladder: there is no next rung to climb to.
            None => return choice(model, "configured model"),
        },
    };
    let on = |rung: usize, rationale: String| ModelChoice {
        model: ladder[rung.min(top)].clone(),
        rationale,
    };
    let escalated = |failures: u32| format!("escalated after {failures} consecutive failures");
    match question.strategy {
        Strategy::Fixed => on(start, "fixed strategy".into()),
        Strategy::Escalate => {
            let rung = (question.failures as usize).min(top);
            match question.failures {
                0 => on(0, "escalate: lowest rung first".into()),
                1 => on(rung, "escalated after 1 failure".into()),
                failures => on(rung, escalated(failures)),
            }
        }
        Strategy::CostOptimized => match (question.course.climbed, question.failures) {
            (0, 0 | 1) => on(start, "default, cost-optimized strategy".into()),
            (0, _) => on(start, once_more(question.course)),
            (climbed, failures) => on(start + climbed as usize, escalated(failures)),
        },
        Strategy::PlanThenExecute => match question.attempts {
            0 => on(top, "plan-then-execute: planning phase".into()),
            _ => on(start, "plan-then-execute: execution phase".into()),
        },
    }
}

/// The same model, because there is progress.
fn once_more(course: &Course) -> String {
    let signs = course.signs.iter().filter(|sign| sign.is_progress());
    let words: Vec<&str> = signs.map(|sign| sign.words()).collect();
    format!("the same once more: {}", words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::{FailedTry, Policy, course};

    /// The courses of failures of which nothing is known.
    fn blind(failures: u32) -> &'static Course {
        let tries = vec![FailedTry::default(); failures as usize];
        Box::leak(Box::new(course(&tries, &Policy::default())))
    }

    fn question<'a>(ladder: &'a [String], strategy: Strategy, failures: u32) -> ModelQuestion<'a> {
        ModelQuestion {
            course: blind(failures),
            agent: "claude",
            ladder,
            strategy,
            forced: None,
            hinted: None,
            of_task: None,
            configured: None,
            attempts: failures,
            failures,
        }
    }

    fn ladder() -> Vec<String> {
        ["haiku", "sonnet", "opus"].map(String::from).to_vec()
    }

    fn models(strategy: Strategy) -> Vec<String> {
        let ladder = ladder();
        (0..5)
            .map(|n| choose_model(&question(&ladder, strategy, n)).model)
            .collect()
    }

    #[test]
    fn each_strategy_climbs_its_own_way() {
        assert_eq!(models(Strategy::Fixed), ["sonnet"; 5]);
        assert_eq!(
            models(Strategy::Escalate),
            ["haiku", "sonnet", "opus", "opus", "opus"]
        );
        assert_eq!(
            models(Strategy::CostOptimized),
            ["sonnet", "sonnet", "opus", "opus", "opus"]
        );
        assert_eq!(
            models(Strategy::PlanThenExecute),
            ["opus", "sonnet", "sonnet", "sonnet", "sonnet"]
        );
    }

    #[test]
    fn loop_04_the_rationales_are_those_of_the_design() {
        let ladder = ladder();
        let default = choose_model(&question(&ladder, Strategy::CostOptimized, 0));
        assert_eq!(default.rationale, "default, cost-optimized strategy");
        let later = choose_model(&question(&ladder, Strategy::CostOptimized, 2));
        assert_eq!(later.rationale, "escalated after 2 consecutive failures");
        let plan = choose_model(&question(&ladder, Strategy::PlanThenExecute, 1));
        assert_eq!(plan.rationale, "plan-then-execute: execution phase");
    }

    #[test]
    fn str_09_task_then_hint_then_command_line() {
        let ladder = ladder();
        let mut q = question(&ladder, Strategy::CostOptimized, 4);
        q.configured = Some("haiku");
        q.of_task = Some("opus");
        assert_eq!(choose_model(&q).model, "opus");
        q.hinted = Some("haiku");
        let hinted = choose_model(&q);
        assert_eq!(hinted.model, "haiku");
        assert_eq!(hinted.rationale, "hinted by previous iteration");
        q.forced = Some("else");
        assert_eq!(choose_model(&q).model, "else");
    }

    #[test]
    fn an_agent_without_models_is_its_own_model() {
        assert_eq!(
            choose_model(&question(&[], Strategy::CostOptimized, 3)).model,
            "claude"
        );
    }
}
