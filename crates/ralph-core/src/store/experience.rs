//! What attempts taught, as it goes into the store and comes out of it.

use super::Result;
use crate::adaptive::{Beliefs, TaskView};
use crate::alike::{Frequencies, Profile, Tried};
use crate::model::{Recent, TaskId};

/// What is to be learnt from a counted attempt.
#[derive(Clone, Debug)]
pub struct Lesson {
    /// The agent's models, cheapest first.
    pub ladder: Vec<String>,
    /// What models are said to cost, in one unit for all.
    pub prices: Vec<(String, f64)>,
    /// The task as the policy saw it before the attempt.
    pub view: TaskView,
    /// What the task is about, the files the attempt changed included.
    pub profile: Profile,
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
