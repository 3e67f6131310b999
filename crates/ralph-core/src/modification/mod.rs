//! Changes to the plan that an agent asks for: `TASK_MODIFICATION_REQUEST` and JSON.
//!
//! [`parse`] finds the requests of an answer; it is tolerant and total, in time linear in the text.
//! [`plan_change`] checks one of them against the plan and says what it comes to; it changes nothing
//! itself. [`instructions`] tells an agent how to ask.

mod instructions;
mod parse;
mod plan;
mod quoted;
mod request;

pub use instructions::instructions;
pub use parse::{Fault, Found, parse};
pub use plan::{
    Change, Dependency, Known, Limits, Place, PlannedTask, Refusal, Standing, plan_change,
};
pub use request::{Kind, Proposed, Request};

#[cfg(test)]
mod tests;
