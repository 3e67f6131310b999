//! The prompt of an attempt: the task, then what is remembered, within a budget; pure and
//! deterministic.
//!
//! ```text
//! Memory ─► sections (attempts, learnings, status, phase failures)
//!             └─► budget: who gets how much room ─► RenderedMemory ─┐
//! TaskPart ───────────────────────────────────────────► template ◄──┘ ─► the prompt
//! ```
//!
//! The caller ranks learnings, reads the database and the template's file; this module only turns
//! what it is given into text. Stored text is made harmless on its way ([`neutral`](crate::text::neutral)).

mod attempt;
mod attempts;
mod budget;
mod explain;
mod further;
mod input;
mod learnings;
mod limits;
mod measure;
mod phase;
mod section;
mod status;
mod task;
mod templates;

#[cfg(test)]
mod tests;

use crate::text::neutral;
pub use budget::{RenderedMemory, render_memory};
pub use explain::{Explanation, LeftOut, SectionUse};
pub use further::{FailureToMend, FurtherPart, failure_to_mend, refused_changes};
pub use input::{
    AttemptReport, LoopStatus, Memory, ParentPart, PastAttempt, PhaseFailure, Prerequisite,
    ShownLearning, TaskPart,
};
pub use limits::{Limits, Minimums, Shares};
pub use task::render_task;
pub use templates::{Template, TemplateError};
