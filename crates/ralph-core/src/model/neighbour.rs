//! A task like another one, and what came of it.

use super::Difficulty;

/// A task that was tried and is like the one in question.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Neighbour {
    /// What people call it.
    pub name: String,
    /// How like, from 0 to 1.
    pub likeness: f64,
    /// The difficulty somebody estimated.
    pub difficulty: Option<Difficulty>,
    /// Models that failed on it.
    pub failed: Vec<String>,
    /// The model that solved it.
    pub done: Option<String>,
}
