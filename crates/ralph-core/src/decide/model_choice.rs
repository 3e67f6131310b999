//! Which model the next attempt gets, and why; or that a person is worth more than another attempt.

use super::FailedAttempt;
use super::FailureTrend;
use super::adaptive_choice::{AdaptiveInputs, choose};
use super::first_model::first_rung;
use crate::model::{ChosenBy, Difficulty, ModelChoice, Neighbour, Recent, Strategy};

#[derive(Clone, Debug)]
pub struct ModelQuestion<'a> {
    /// The agent's name, which is its model where it has none.
    pub agent: &'a str,
    pub ladder: &'a [String],
    pub strategy: Strategy,
    /// What the user chose for this attempt.
    pub chosen: Option<&'a str>,
    pub forced: Option<&'a str>,
    pub hinted: Option<&'a str>,
    pub of_task: Option<&'a str>,
    /// The settings' model: where a strategy starts.
    pub configured: Option<&'a str>,
    /// Whether the task is about thinking, not about doing.
    pub planning: bool,
    pub difficulty: Option<Difficulty>,
    pub attempts: u32,
    pub failures: u32,
    pub failed_attempts: &'a [FailedAttempt],
    pub trend: &'a FailureTrend,
    /// Tasks like this one that were tried.
    pub neighbours: &'a [Neighbour],
    pub recent: Recent,
    pub adaptive: AdaptiveInputs<'a>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub choice: ModelChoice,
    /// Why there should be none: a person is worth more.
    pub ask_human: Option<String>,
}

impl Decision {
    pub(super) fn try_with(model: &str, rationale: impl Into<String>) -> Self {
        let choice = ModelChoice { model: model.to_owned(), rationale: rationale.into() };
        Self { choice, ask_human: None }
    }
}

/// What is settled before any strategy is asked.
fn settled(question: &ModelQuestion<'_>) -> Option<Decision> {
    // A hint given to another agent means nothing to this one.
    let knows = |model: &&str| question.ladder.iter().any(|rung| rung == model);
    let overrides = [
        (question.chosen, ChosenBy::User),
        (question.forced, ChosenBy::CommandLine),
        (question.hinted.filter(knows), ChosenBy::Hint),
        (question.of_task, ChosenBy::Task),
    ];
    let over = overrides.into_iter().find_map(|(model, by)| Some((model?, by.rationale()?)));
    if let Some((model, rationale)) = over {
        return Some(Decision::try_with(model, rationale));
    }
    if question.ladder.is_empty() {
        let model = question.configured.unwrap_or(question.agent);
        return Some(Decision::try_with(model, "the agent's only model"));
    }
    None
}

/// Whether the answer depends on neighbours, recent attempts or beliefs, so that nobody looks them up in vain.
pub fn needs_experience(question: &ModelQuestion<'_>) -> bool {
    let asks = match question.strategy {
        Strategy::Adaptive => question.configured.is_none() || question.failures > 0,
        Strategy::CostOptimized => base(question).is_none(),
        Strategy::Fixed | Strategy::Escalate | Strategy::PlanThenExecute => false,
    };
    asks && settled(question).is_none()
}

/// Chooses. Equal questions get equal answers.
pub fn choose_model(question: &ModelQuestion<'_>) -> Decision {
    if let Some(decision) = settled(question) {
        return decision;
    }
    let ladder = question.ladder;
    let middle = (ladder.len() - 1) / 2;
    let top = ladder.len() - 1;
    let start = match question.configured {
        None => middle,
        Some(model) => match ladder.iter().position(|rung| rung == model) {
            Some(rung) => rung,
            // Not on the ladder: there is no next rung to climb to.
            None => return Decision::try_with(model, "configured model"),
        },
    };
    let (rung, rationale) = match question.strategy {
        Strategy::Adaptive => return adaptive(question, start),
        Strategy::Fixed => (start, "fixed strategy".into()),
        Strategy::Escalate => {
            let climbed = (question.failures as usize).min(top);
            let rung = climbed.max(hinted_to(question));
            let rationale = match question.failures {
                0 => "escalate: cheapest model first".into(),
                _ if rung > climbed => HINT_LED.into(),
                _ => climbing(question, rung, 0),
            };
            (rung, rationale)
        }
        Strategy::CostOptimized => cost_optimized(question, start),
        Strategy::PlanThenExecute if question.planning => (top, "plan-then-execute: planning task".into()),
        Strategy::PlanThenExecute => match question.attempts {
            0 => (top, "plan-then-execute: planning phase".into()),
            _ => (start, "plan-then-execute: execution phase".into()),
        },
    };
    let model = ladder.get(rung.min(top)).map_or("", String::as_str);
    Decision::try_with(model, rationale)
}

/// A model of the settings makes the first attempt and is never undercut; else experience alone decides.
fn adaptive(question: &ModelQuestion<'_>, start: usize) -> Decision {
    let Some(model) = question.configured else { return choose(question) };
    if question.failures == 0 {
        return Decision::try_with(model, "adaptive: starts with the configured model");
    }
    choose(&ModelQuestion { ladder: question.ladder.get(start..).unwrap_or_default(), ..question.clone() })
}

/// Why a rung is kept that no failure led to.
const HINT_LED: &str = "suggested by an earlier attempt";

/// Starts where experience says, and climbs when the trend of the task says so.
fn cost_optimized(question: &ModelQuestion<'_>, start: usize) -> (usize, String) {
    // Climbing goes on from where the strategy began, whatever it would choose today.
    let (base, first) = match base(question) {
        Some(base) => (base, None),
        None => {
            let (rung, rationale) = first_rung(question, start);
            (rung, Some(rationale))
        }
    };
    let top = question.ladder.len().saturating_sub(1);
    let climbed = base + question.trend.climbed as usize;
    let rung = climbed.max(hinted_to(question)).min(top);
    let rationale = match (first, question.trend.climbed, question.failures) {
        _ if rung > climbed => HINT_LED.into(),
        (Some(first), 0, _) => first,
        (None, 0, 1) if base == start => "default, cost-optimized strategy".into(),
        (None, 0, 1) => "retry with the same model after 1 failure".into(),
        (None, 0, _) => once_more(question.trend),
        _ => climbing(question, rung, base),
    };
    (rung, rationale)
}

/// The rung of the first attempt in this row of failures that the strategy chose itself.
fn base(question: &ModelQuestion<'_>) -> Option<usize> {
    let mut failed_attempts = question.failed_attempts.iter();
    let first = failed_attempts.find(|failed| failed.chosen_by == ChosenBy::Strategy)?;
    question.ladder.iter().position(|rung| *rung == first.model)
}

/// The highest rung that a hint led to in this row of failures: what the agent itself thought necessary is not undercut.
fn hinted_to(question: &ModelQuestion<'_>) -> usize {
    let failed_attempts = question.failed_attempts.iter();
    let hinted = failed_attempts.filter(|failed| failed.chosen_by == ChosenBy::Hint);
    hinted
        .filter_map(|failed| question.ladder.iter().position(|rung| *rung == failed.model))
        .max()
        .unwrap_or(0)
}

/// Why a task that climbs from `base` is on this rung: it has climbed, or it cannot.
fn climbing(question: &ModelQuestion<'_>, rung: usize, base: usize) -> String {
    let failures = question.failures;
    let last = question.failed_attempts.last().map(|last| last.model.as_str());
    let stays = last.is_some() && last == question.ladder.get(rung).map(String::as_str);
    let top = rung + 1 >= question.ladder.len();
    let plural =
        if failures == 1 { "1 failure".to_owned() } else { format!("{failures} consecutive failures") };
    if stays && !top {
        "retry with the same model".into()
    } else if stays && rung <= base {
        format!("already the strongest model, after {plural}")
    } else {
        format!("escalated after {plural}")
    }
}

/// The same model, because there is progress.
fn once_more(trend: &FailureTrend) -> String {
    let signs = trend.signs.iter().filter(|sign| sign.is_progress());
    let words: Vec<&str> = signs.map(|sign| sign.words()).collect();
    if words.is_empty() {
        return "retry with the same model".to_owned();
    }
    format!("retry with the same model: {}", words.join(", "))
}

/// First words of titles that ask for a plan, not for code.
const PLANNING_VERBS: &str = "analyse analyze architect brainstorm decide design evaluate investigate outline plan propose \
                              research specify spec";

/// Judged by how its title begins: `Design the cache`, `[PLAN] Phase 2`.
pub fn is_planning(title: &str) -> bool {
    let first = title.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
    first.is_some_and(|word| PLANNING_VERBS.split(' ').any(|verb| word.eq_ignore_ascii_case(verb)))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::decide::{Policy, failure_trend};

    /// The courses of failures of which nothing is known.
    fn blind(failures: u32) -> (&'static [FailedAttempt], &'static FailureTrend) {
        let failed_attempts: &[FailedAttempt] =
            Box::leak(vec![FailedAttempt::default(); failures as usize].into_boxed_slice());
        (failed_attempts, Box::leak(Box::new(failure_trend(failed_attempts, &Policy::default()))))
    }

    pub(in super::super) fn question<'a>(
        ladder: &'a [String],
        strategy: Strategy,
        failures: u32,
    ) -> ModelQuestion<'a> {
        let (failed_attempts, trend) = blind(failures);
        ModelQuestion {
            trend,
            failed_attempts,
            agent: "claude",
            ladder,
            strategy,
            chosen: None,
            forced: None,
            hinted: None,
            of_task: None,
            configured: None,
            planning: false,
            difficulty: None,
            attempts: failures,
            failures,
            neighbours: &[],
            recent: Recent::default(),
            adaptive: AdaptiveInputs::default(),
        }
    }

    pub(in super::super) fn ladder() -> Vec<String> {
        ["haiku", "sonnet", "opus"].map(String::from).to_vec()
    }

    fn choice(question: &ModelQuestion<'_>) -> ModelChoice {
        choose_model(question).choice
    }

    fn models(strategy: Strategy) -> Vec<String> {
        let ladder = ladder();
        (0..5).map(|n| choice(&question(&ladder, strategy, n)).model).collect()
    }

    #[test]
    fn str_09_each_strategy_climbs_its_own_way() {
        assert_eq!(models(Strategy::Fixed), ["sonnet"; 5]);
        assert_eq!(models(Strategy::Escalate), ["haiku", "sonnet", "opus", "opus", "opus"]);
        assert_eq!(models(Strategy::CostOptimized), ["sonnet", "sonnet", "opus", "opus", "opus"]);
        assert_eq!(models(Strategy::PlanThenExecute), ["opus", "sonnet", "sonnet", "sonnet", "sonnet"]);
    }

    #[test]
    fn loop_04_the_rationales_are_those_of_the_design() {
        let ladder = ladder();
        let default = choice(&question(&ladder, Strategy::CostOptimized, 0));
        assert_eq!(default.rationale, "default, cost-optimized strategy");
        let later = choice(&question(&ladder, Strategy::CostOptimized, 2));
        assert_eq!(later.rationale, "escalated after 2 consecutive failures");
        let plan = choice(&question(&ladder, Strategy::PlanThenExecute, 1));
        assert_eq!(plan.rationale, "plan-then-execute: execution phase");
    }

    #[test]
    fn str_09_a_planning_task_keeps_the_strongest() {
        let ladder = ladder();
        let mut q = question(&ladder, Strategy::PlanThenExecute, 1);
        q.planning = true;
        let planning = choice(&q);
        assert_eq!(planning.model, "opus");
        assert_eq!(planning.rationale, "plan-then-execute: planning task");
    }

    #[test]
    fn str_09_task_then_hint_then_command_line_then_user() {
        let ladder = ladder();
        for strategy in Strategy::ALL {
            let mut q = question(&ladder, strategy, 4);
            q.configured = Some("haiku");
            q.of_task = Some("opus");
            let own = choice(&q);
            assert_eq!((own.model.as_str(), own.rationale.as_str()), ("opus", "the task's own model"));
            q.hinted = Some("haiku");
            let hinted = choice(&q);
            assert_eq!(hinted.model, "haiku");
            assert_eq!(hinted.rationale, "hinted by previous iteration");
            q.forced = Some("else");
            let forced = choose_model(&q);
            assert_eq!(forced, Decision::try_with("else", "given on the command line"));
            q.chosen = Some("sonnet");
            let chosen = choose_model(&q);
            assert_eq!(chosen, Decision::try_with("sonnet", "chosen by the user for this attempt"));
        }
    }

    #[test]
    fn str_02_climbing_goes_on_from_where_the_first_attempt_stood() {
        let ladder = ladder();
        let failed_attempts = vec![FailedAttempt { model: "haiku".into(), ..FailedAttempt::default() }; 3];
        let story: Vec<ModelChoice> = (1..=3)
            .map(|failures| {
                let trend = failure_trend(&failed_attempts[..failures], &Policy::default());
                let mut q = question(&ladder, Strategy::CostOptimized, failures as u32);
                (q.failed_attempts, q.trend) = (&failed_attempts[..failures], &trend);
                choice(&q)
            })
            .collect();
        let models: Vec<&str> = story.iter().map(|choice| choice.model.as_str()).collect();
        assert_eq!(models, ["haiku", "sonnet", "opus"]);
        assert_eq!(story[0].rationale, "retry with the same model after 1 failure");
    }

    #[test]
    fn str_02_a_model_given_for_one_attempt_is_not_where_climbing_goes_on_from() {
        let ladder = ladder();
        let failed_attempts = [FailedAttempt {
            model: "opus".into(),
            chosen_by: ChosenBy::CommandLine,
            ..FailedAttempt::default()
        }];
        let trend = failure_trend(&failed_attempts, &Policy::default());
        let mut q = question(&ladder, Strategy::CostOptimized, 1);
        (q.failed_attempts, q.trend) = (&failed_attempts, &trend);
        let chosen = choice(&q);
        assert_eq!(chosen.model, "sonnet");
        assert_eq!(chosen.rationale, "default, cost-optimized strategy");
    }

    #[test]
    fn str_02_after_a_hint_upwards_the_default_does_not_step_down() {
        let ladder = ladder();
        let failed_attempts = [
            FailedAttempt { model: "sonnet".into(), ..FailedAttempt::default() },
            FailedAttempt { model: "opus".into(), chosen_by: ChosenBy::Hint, ..FailedAttempt::default() },
        ];
        let trend = FailureTrend { failures: 2, ..FailureTrend::default() };
        let mut q = question(&ladder, Strategy::CostOptimized, 2);
        (q.failed_attempts, q.trend) = (&failed_attempts, &trend);
        let chosen = choice(&q);
        assert_eq!(chosen.model, "opus");
        assert_eq!(chosen.rationale, "suggested by an earlier attempt");
    }

    #[test]
    fn loop_04_at_the_top_of_the_ladder_it_stays_and_says_what_led_there() {
        let ladder = ladder();
        let failed_attempts = ["sonnet", "sonnet", "opus", "opus"]
            .map(|model| FailedAttempt { model: model.into(), ..FailedAttempt::default() });
        let trend = failure_trend(&failed_attempts, &Policy::default());
        let mut q = question(&ladder, Strategy::CostOptimized, 4);
        (q.failed_attempts, q.trend) = (&failed_attempts, &trend);
        let chosen = choice(&q);
        assert_eq!(chosen.model, "opus");
        assert_eq!(chosen.rationale, "escalated after 4 consecutive failures");
        let one = &ladder[..1];
        let failed_attempts =
            ["haiku"; 4].map(|model| FailedAttempt { model: model.into(), ..FailedAttempt::default() });
        q.ladder = one;
        q.failed_attempts = &failed_attempts;
        assert_eq!(
            choice(&q).rationale,
            "already the strongest model, after 4 consecutive failures",
            "there was nothing to escalate to"
        );
    }

    #[test]
    fn sig_09_a_hint_that_is_no_rung_of_this_agents_ladder_is_passed_over() {
        let ladder = ladder();
        let mut q = question(&ladder, Strategy::CostOptimized, 0);
        q.hinted = Some("gpt-big");
        assert_eq!(choice(&q).model, "sonnet");
    }

    #[test]
    fn an_agent_without_models_is_its_own_model() {
        for strategy in Strategy::ALL {
            assert_eq!(choice(&question(&[], strategy, 3)).model, "claude");
        }
    }

    #[test]
    fn str_09_a_configured_model_off_the_ladder_stands() {
        let ladder = ladder();
        for strategy in Strategy::ALL {
            for failures in 0..3 {
                let mut q = question(&ladder, strategy, failures);
                q.configured = Some("elsewhere");
                assert_eq!(choice(&q).model, "elsewhere", "{strategy}");
            }
        }
    }

    #[test]
    fn str_09_adaptive_starts_with_the_configured_model_and_never_undercuts_it() {
        let ladder = ladder();
        for (start, model) in ladder.iter().enumerate() {
            let mut q = question(&ladder, Strategy::default(), 0);
            q.configured = Some(model);
            let first = choice(&q);
            assert_eq!(&first.model, model);
            assert_eq!(first.rationale, "adaptive: starts with the configured model");
            for failures in 1..5 {
                let mut q = question(&ladder, Strategy::default(), failures);
                q.configured = Some(model);
                assert!(ladder[start..].contains(&choice(&q).model));
            }
        }
    }

    #[test]
    fn ladders_may_have_any_length() {
        for length in 1..20 {
            let ladder: Vec<String> = (0..length).map(|rung| format!("m{rung}")).collect();
            for strategy in Strategy::ALL {
                for failures in 0..30 {
                    let decision = choose_model(&question(&ladder, strategy, failures));
                    assert!(ladder.contains(&decision.choice.model));
                }
            }
        }
    }

    #[test]
    fn the_first_word_of_the_title_decides() {
        for title in ["Design the cache", "[PLAN] Phase 2", "research: which parser", "Plan"] {
            assert!(is_planning(title), "{title}");
        }
        for title in ["", "Add the plan command", "Planet table", "Redesign nothing", "…"] {
            assert!(!is_planning(title), "{title}");
        }
    }
}
