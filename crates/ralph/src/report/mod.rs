//! The report of a run for the morning after: one self-contained page, or Markdown for a pull request or a chat.
//!
//! ```text
//! store, git ─► ReportFacts ─┬─► page.rs     HTML: no network, no script, light and dark
//!                            └─► markdown.rs
//! ```
//!
//! What agents and files say reaches both as text alone: clean, masked, bounded, escaped.

mod changes;
mod facts;
mod file;
mod markdown;
mod page;

pub use facts::ReportFacts;
pub use file::{Format, ReportFile, write, write_at_end};
pub use markdown::markdown;
pub use page::page;
