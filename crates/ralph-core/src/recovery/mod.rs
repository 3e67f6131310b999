//! Recovery: what is known of a failure, whether it may get another fix task, and that task.
//!
//! ```text
//! evidence ─► failure ─┐
//!                      ├─► fix task ─► its block for tasks.md
//! lineage ──► limits ──┘
//!               └─► limit reached: what to print, and the final state in .progress.md
//! ```

mod error_kind;
mod error_words;
mod failure;
mod fix_task;
mod history;
mod limits;
mod verify_field;

pub use error_kind::ErrorKind;
pub use failure::{Evidence, Failure, FailureBlock};
pub use fix_task::{FixTask, NO_VERIFY, Original};
pub use history::{FailReason, FinalState, FixHistory};
pub use limits::{FixKey, LimitReached, Limits, Lineage, next_fix};
