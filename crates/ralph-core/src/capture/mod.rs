//! What an attempt leaves behind: the report of a failure, what was learnt. Pure; the store writes it.

mod actions;
mod mark;
mod named_files;
mod report;

pub use mark::{mark, mark_of};
pub(crate) use report::NOTHING_KNOWN;
pub use report::{DIED, learnings, lost_report, parent_gate_report, report};
