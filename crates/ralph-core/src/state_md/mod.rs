//! `.ralph/STATE.md`: where the run stands, for people. Pure; whoever calls it writes the file.

mod bar;
mod history;
mod inline;
mod page;
#[cfg(test)]
mod tests;
mod view;

pub use page::render;
pub use view::{AttemptView, HistoryRow, RunView, StateView, TaskView};
