//! The failure analysis: what the newest failures have in common, and what to do about it. Pure.
//!
//! Everything in a [`Fact`] may come from an agent, so every line is one clean, bounded line.

mod cause;
mod compile;
mod files;
mod input;
mod models;
mod pattern;
mod picture;
mod place;
mod report;
mod seen;
mod shared;
mod suggestion;
#[cfg(test)]
mod tests;
mod trouble;
mod words;

pub use input::{Fact, Surroundings};
pub use report::Analysis;

use picture::Picture;

/// What the failures, newest first, have in common, and a suggestion that follows from it.
#[must_use]
pub fn analyse(facts: &[Fact], around: &Surroundings) -> Analysis {
    let picture = Picture::new(facts, around);
    Analysis {
        failures: facts.len(),
        pattern: Some(pattern::pattern(&picture)),
        affected: files::affected(&picture.seen),
        shared: shared::shared(facts),
        models: Some(models::line(facts, &around.ladder)),
        suggestion: suggestion::suggestion(&picture),
    }
}
