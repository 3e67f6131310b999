//! Plans of get-shit-done: `.planning/phases/NN-slug/NN-MM-PLAN.md` and `.planning/ROADMAP.md`.
//!
//! ```text
//! plan file ─► frontmatter (wave, depends_on) + elements (objective, tasks) ─► plan ─┐
//! roadmap ───► order of phases, titles, ticks ───────────────────────────────────────┴─► draft
//! ```
//!
//! A plan is a task and its task elements are its parts, done one after another. Plans wait for
//! what `depends_on` names, for the wave before theirs and, in a first wave, for the phase before.
//! Whatever a plan waits for its first part waits for too, since only tasks without parts are run.

mod build;
mod check;
mod depends;
mod elements;
mod files;
mod frontmatter;
mod ids;
mod order;
mod plan;
mod prose;
mod roadmap;
mod step;

#[cfg(test)]
mod tests;

pub use build::read;
pub use files::{FileProblem, GsdFiles};
