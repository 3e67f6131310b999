//! Plans in files: readers of every format, and the edits of the files that Ralph keeps in sync. Text in, a draft of the plan or all that
//! is wrong with it out; only `import` opens files.
//!
//! ```text
//! name and text ─► Format ─┬─► checklist   any Markdown list with checkboxes
//!                          ├─► tasks_md    specs, which are also edited, with progress_md and state_json beside them
//!                          ├─► jsonl       what `ralph export` wrote                                  ─► Draft
//!                          ├─► json_plan   prd.json, Task Master, beads, GitHub issues
//!                          └─► gsd         .planning/ of get-shit-done
//! ```
//!
//! What a reader cannot make sense of is a [`Problem`] with its line. One problem is enough for
//! there to be no draft, and all of them are told at once. What a person should know although the
//! reading went on is a [`Note`].

mod check;
pub mod checklist;
pub(crate) mod command;
mod draft;
pub mod export;
pub(crate) mod graph;
pub mod gsd;
pub mod import;
mod json;
pub mod json_plan;
pub mod jsonl;
mod key;
pub mod marks;
mod outline;
pub mod progress_md;
pub mod review;
mod spec_name;
pub mod state_json;
pub mod tasks_md;
mod text;

pub use spec_name::{is_spec_name, spec_names};

/// What is wrong with a Markdown file that has no checkbox.
pub const NO_TASKS: &str = "no tasks found; expected a list such as `- [ ] Title`";

pub use draft::{Draft, DraftTask, FileProblem, Format, Note, Problem};
