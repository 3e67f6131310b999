//! Claude Code as an agent: how it is started, what its event stream says, what class its faults are.

mod agent;
mod brief;
mod classify;
mod events;
mod launch;
#[cfg(test)]
mod recorded_tests;
mod stream;
#[cfg(test)]
mod stream_tests;

pub use agent::Claude;
pub use launch::{ClaudeOptions, arguments, environment};
pub use stream::ClaudeStream;
