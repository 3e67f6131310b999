//! What is remembered from attempt to attempt, and where it is shown: in the prompt, AGENTS.md and STATE.md.
//! Pure: texts and data in, texts out.

pub mod agents_md;
pub mod prompt;
pub mod recall;
pub mod state_md;
