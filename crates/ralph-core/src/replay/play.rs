//! Playing a world with one strategy.

use serde::Serialize;

use super::world::{Options, Task, World};
use crate::decide::adaptive::{Beliefs, Failure, TaskView, Tuning, observe, plan};

/// How a strategy did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Score {
    /// The strategy.
    pub name: String,
    /// Share of the tasks it solved.
    pub solved: f64,
    /// What it spent per task.
    pub cost_per_task: f64,
    /// That plus the value of what it left unsolved.
    pub loss: f64,
}

/// Sums while playing.
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

/// A strategy that does not learn: from the number of failures to the rung, or to giving up.
pub(super) fn play_rule(
    world: &World,
    options: &Options,
    name: &str,
    rule: impl Fn(usize) -> Option<usize>,
) -> Score {
    let mut tally = Tally::default();
    for task in &world.tasks {
        let mut counts = vec![0; options.ladder.len()];
        let (mut cost, mut solved) = (0.0, false);
        for attempt in 0..options.attempts as usize {
            let Some(rung) = rule(attempt) else { break };
            let Some(count) = counts.get_mut(rung) else {
                break;
            };
            let outcome = task.outcome(rung, *count);
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

/// The adaptive policy from a cold start, learning as the tasks come.
pub fn play_adaptive(world: &World, options: &Options, tuning: Tuning) -> Score {
    let mut beliefs = Beliefs::new(tuning);
    beliefs.meet(&options.ladder);
    let mut tally = Tally::default();
    for task in &world.tasks {
        let (solved, cost) = adapt(&mut beliefs, task, options);
        tally.add(solved, cost);
    }
    tally.score("adaptive", options.value_usd)
}

fn adapt(beliefs: &mut Beliefs, task: &Task, options: &Options) -> (bool, f64) {
    let ladder = &options.ladder;
    let mut view = TaskView {
        difficulty: task.difficulty,
        ..TaskView::default()
    };
    let mut cost = 0.0;
    for attempt in 0..options.attempts {
        view.attempts_left = options.attempts - attempt;
        let plan = plan(beliefs, ladder, &view, options.value_usd);
        let Some((rung, model)) = plan
            .sequence
            .first()
            .and_then(|rung| Some((*rung, ladder.get(*rung)?)))
        else {
            break;
        };
        let earlier = view.failures.iter().find(|failure| failure.model == *model);
        let outcome = task.outcome(rung, earlier.map_or(0, |failure| failure.times as usize));
        cost += outcome.cost;
        observe(
            beliefs,
            ladder,
            &view,
            model,
            outcome.success,
            Some(outcome.cost),
        );
        if outcome.success {
            return (true, cost);
        }
        match view
            .failures
            .iter_mut()
            .find(|failure| failure.model == *model)
        {
            Some(failure) => failure.times += 1,
            None => view.failures.push(Failure {
                model: model.clone(),
                times: 1,
                same_again: false,
                cost: Some(outcome.cost),
            }),
        }
    }
    (false, cost)
}
