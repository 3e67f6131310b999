//! Specs in `tasks.md`: reading them as drafts of plans, and changing in them only what changed.
//!
//! ```text
//! file ─► lines (what each is) ─► blocks (a task line and what stands below it)
//!           ├─► read:   words of the task line, entries ─► fields, phases, order ─► Draft
//!           ├─► mark:   one character in a checkbox
//!           └─► insert: a rendered block, with one blank line on each side
//! ```
//!
//! Text in, text out: what is not changed stays byte for byte.

mod ahead;
mod blocks;
mod closed;
mod command;
mod dedent;
mod entries;
mod fenced;
mod fields;
mod head;
mod inline_code;
mod insert;
mod key;
mod label;
mod lines;
mod mark;
mod nearly;
mod order;
mod phase;
mod place;
mod read;
mod render;
mod syntax;
mod task;
mod value;
mod verify;

#[cfg(test)]
mod tests;

pub use command::is_command;
pub use insert::{insert_after, insert_after_block, insert_before};
pub use mark::{Marked, mark};
pub use place::{Place, find, looks_like, verify_field};
pub use read::read;
pub use render::{VerifyAs, render};
