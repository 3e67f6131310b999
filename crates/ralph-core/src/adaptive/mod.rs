//! The adaptive policy: tries what is worth most, learns from what came of it, and says when a person is worth more.
//!
//! ```text
//! view of a task ─► posterior of its difficulty ─┐
//! beliefs ─► chances and costs of every model ───┴► search ─► plan ─► one attempt ─► observe ─► beliefs
//! ```
//!
//! | idea | where |
//! |---|---|
//! | tasks have a hidden difficulty, models an ability; success is logistic in the difference | `grid`, `task` |
//! | every failure makes the task look harder, for all models | `task` |
//! | abilities, the difficulties within a bucket and the rate of retries are learnt | [`observe()`] |
//! | costs have long tails, differ by model, bucket and task, and are hoped to be low until seen | `costs` |
//! | of all sequences of attempts the one with the least cost + value × failure | `search` |
//!
//! `value_usd`, what a done task is worth, is the only knob.

mod beliefs;
mod costs;
mod expect;
mod grid;
mod observe;
mod plan;
#[cfg(test)]
mod properties;
mod search;
mod task;
#[cfg(test)]
mod tests;
mod tuning;

pub use beliefs::{BUCKETS, Beliefs, BucketBelief, ModelBelief};
pub use expect::{Expectation, expectations};
pub use observe::{Seen, observe};
pub use plan::{DEFAULT_VALUE_USD, Plan, plan};
pub use task::{Failure, TaskView};
pub use tuning::Tuning;
