//! What attempts taught, as it goes into the store and comes out of it.

use super::Result;
use crate::adaptive::{Beliefs, Seen, TaskView, observe};
use crate::agent::{Prices, output_prices};
use crate::alike::{Frequencies, Profile, Tried};
use crate::model::{Difficulty, Recent, TaskId};

/// What is to be learnt from a counted attempt.
#[derive(Clone, Debug)]
pub struct Lesson {
    /// The model that made it.
    pub model: String,
    /// Whether the task was done.
    pub done: bool,
    /// What it cost, as far as is known.
    pub cost_usd: Option<f64>,
    /// How hard the agent says the task is, by its last word.
    pub estimate: Option<Difficulty>,
    /// The agent's models, cheapest first.
    pub ladder: Vec<String>,
    /// What models are said to cost.
    pub prices: Prices,
    /// The task as the policy saw it before the attempt.
    pub view: TaskView,
    /// What the task is about, the files the attempt changed included.
    pub profile: Profile,
}

impl Lesson {
    /// What is believed after it.
    #[must_use]
    pub fn learnt(&self, before: &Beliefs) -> Beliefs {
        let mut after = before.clone();
        after.set_prices(&self.ladder, output_prices(&self.prices));
        let seen = Seen {
            model: &self.model,
            success: self.done,
            cost: self.cost_usd,
            estimate: self.estimate,
        };
        observe(&mut after, &self.ladder, &self.view, &seen);
        after
    }
}

/// What tasks and models taught so far.
pub trait ExperienceStore {
    /// What is believed of an agent's models, and of tasks.
    fn beliefs(&self, agent: &str) -> Result<Beliefs>;
    /// How the last counted attempts on any task went.
    fn recent(&self, most: u32) -> Result<Recent>;
    /// How often terms occur among the tasks tried.
    fn frequencies(&self, terms: &[String]) -> Result<Frequencies>;
    /// Tasks with some of these terms, those whose terms are worth most first; without the task itself.
    fn tried(&self, lookup: &[(String, f64)], except: &TaskId, most: usize) -> Result<Vec<Tried>>;
}
