//! Playing a world with one strategy.

use std::collections::VecDeque;

use serde::Serialize;

use super::world::{Options, Outcome, Task, World};
use crate::adaptive::{Beliefs, Seen, TaskView, observe};
use crate::decide::{
    AdaptiveInputs, FailedAttempt, FailureTrend, ModelQuestion, Policy, RECENT_WINDOW, choose_model,
    failure_trend, task_view,
};
use crate::model::{Recent, Strategy};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Score {
    pub name: String,
    /// Share of the tasks it solved.
    pub solved: f64,
    pub cost_per_task: f64,
    /// That plus the value of what it left unsolved.
    pub loss: f64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    tasks: f64,
    solved: f64,
    cost: f64,
}

impl Tally {
    pub(super) fn add(&mut self, solved: bool, cost: f64) {
        self.tasks += 1.0;
        self.solved += if solved { 1.0 } else { 0.0 };
        self.cost += cost;
    }

    pub(super) fn score(&self, name: &str, value: f64) -> Score {
        let tasks = self.tasks.max(1.0);
        Score {
            name: name.to_owned(),
            solved: self.solved / tasks,
            cost_per_task: self.cost / tasks,
            loss: (self.cost + value * (self.tasks - self.solved)) / tasks,
        }
    }
}

/// A sequence given beforehand: the rung of each attempt, or giving up.
pub fn play_sequence(world: &World, options: &Options, name: &str, rungs: &[usize]) -> Score {
    let mut tally = Tally::default();
    for task in &world.tasks {
        let mut counts = vec![0; options.ladder.len()];
        let (mut cost, mut solved) = (0.0, false);
        for rung in rungs.iter().take(options.attempts as usize) {
            let Some(count) = counts.get_mut(*rung) else { break };
            let outcome = task.outcome(*rung, *count);
            *count += 1;
            cost += outcome.cost;
            solved = outcome.success;
            if solved {
                break;
            }
        }
        tally.add(solved, cost);
    }
    tally.score(name, options.value_usd)
}

/// A strategy as runs use it, from a cold start, learning as the tasks come.
pub fn play(world: &World, options: &Options, strategy: Strategy) -> Score {
    let mut player = Player { options, strategy, beliefs: Beliefs::default(), recent: VecDeque::new() };
    player.beliefs.add_models(&options.ladder);
    let mut tally = Tally::default();
    for task in &world.tasks {
        let (solved, cost) = player.task(task);
        tally.add(solved, cost);
    }
    tally.score(strategy.as_str(), options.value_usd)
}

/// What a strategy remembers from task to task.
struct Player<'a> {
    options: &'a Options,
    strategy: Strategy,
    beliefs: Beliefs,
    /// How the last attempts went.
    recent: VecDeque<bool>,
}

impl Player<'_> {
    /// Plays one task: whether it was solved, and at what cost.
    fn task(&mut self, task: &Task) -> (bool, f64) {
        let mut failed_attempts: Vec<FailedAttempt> = Vec::new();
        let mut spent = 0.0;
        for attempt in 0..self.options.attempts {
            let policy = self.policy();
            let trend = failure_trend(&failed_attempts, &policy);
            let question = self.question(task, attempt, &failed_attempts, &trend);
            let decision = choose_model(&question);
            let ladder = &self.options.ladder;
            let rung = ladder.iter().position(|rung| *rung == decision.choice.model);
            let Some(rung) = rung.filter(|_| decision.ask_human.is_none()) else { break };
            let view = task_view(&question);
            let model = decision.choice.model;
            let earlier = failed_attempts.iter().filter(|failed| failed.model == model).count();
            let outcome = task.outcome(rung, earlier);
            spent += outcome.cost;
            self.remember(&view, &model, outcome);
            if outcome.success {
                return (true, spent);
            }
            failed_attempts.push(FailedAttempt {
                model,
                cost_usd: Some(outcome.cost),
                ..FailedAttempt::default()
            });
        }
        (false, spent)
    }

    fn policy(&self) -> Policy {
        Policy { max_attempts: self.options.attempts, ..Policy::default() }
    }

    fn question<'q>(
        &'q self,
        task: &Task,
        failures: u32,
        failed_attempts: &'q [FailedAttempt],
        trend: &'q FailureTrend,
    ) -> ModelQuestion<'q> {
        let done = self.recent.iter().filter(|done| **done).count();
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        ModelQuestion {
            agent: "",
            ladder: &self.options.ladder,
            strategy: self.strategy,
            chosen: None,
            forced: None,
            hinted: None,
            of_task: None,
            configured: self.options.model.as_deref(),
            planning: false,
            difficulty: task.difficulty,
            attempts: failures,
            failures,
            failed_attempts,
            trend,
            neighbours: &[],
            recent: Recent { done: count(done), counted: count(self.recent.len()) },
            adaptive: AdaptiveInputs {
                beliefs: Some(&self.beliefs),
                value_usd: self.options.value_usd,
                max_attempts: self.options.attempts,
            },
        }
    }

    fn remember(&mut self, view: &TaskView, model: &str, outcome: Outcome) {
        self.recent.push_back(outcome.success);
        if self.recent.len() > RECENT_WINDOW as usize {
            self.recent.pop_front();
        }
        if self.strategy == Strategy::Adaptive {
            let ladder = &self.options.ladder;
            let cost = Some(outcome.cost);
            let seen = Seen { model, success: outcome.success, cost, estimate: view.difficulty };
            observe(&mut self.beliefs, ladder, view, &seen);
        }
    }
}
