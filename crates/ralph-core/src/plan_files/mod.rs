//! Readers of plan files. Text in, a draft of the plan or all that is wrong with it out; no file
//! is opened here.
//!
//! ```text
//! name and text ─► detect ─┬─► checklist   any Markdown list with checkboxes
//!                          ├─► tasks_md    specs, which are also edited
//!                          ├─► lines       what `ralph export` wrote
//!                          ├─► prd         prd.json and its user stories      ─► Draft
//!                          └─► gsd         .planning/ of get-shit-done
//! ```
//!
//! What a reader cannot make sense of is a [`Problem`] with its line. One problem is enough for
//! there to be no draft, and all of them are told at once. What a person should know although the
//! reading went on is a [`Note`].

pub mod checklist;
mod command;
mod cycles;
mod detect;
mod draft;
pub mod gsd;
mod key;
pub mod lines;
mod markdown;
mod phase;
pub mod prd;
pub mod tasks_md;
mod text;

pub use detect::{Format, detect};
pub use draft::{Draft, DraftTask, Note, Problem};
