//! Recovery: what is known of a failure, whether it may get another fix task, and that task.
//!
//! ```text
//! evidence ─► failure ─┐
//!                      ├─► fix task ─► its block for tasks.md
//! lineage ──► limits ──┘
//!               └─► limit reached: what to print, and the final state in .progress.md
//! ```

mod failure;
mod fix_task;
mod limits;

pub use failure::{Failure, FailureFacts};
pub use fix_task::{FixTask, NO_VERIFY, Original};
pub use limits::{FinalState, FixHistory, LimitReached, Limits, Lineage, next_fix};
