//! Codex as an agent: how it is started, what its event stream says, what class its faults are.

mod agent;
mod classify;
mod end;
mod events;
mod here;
mod launch;
#[cfg(test)]
mod recorded_tests;
mod resets;
mod stream;
#[cfg(test)]
mod stream_tests;
mod tools;

pub use agent::Codex;
pub use launch::arguments;
pub use stream::CodexStream;

use super::{CredentialFile, Facts};

/// What is known of Codex before it is started.
///
/// The models are the current one of each tier in the catalogue that this version brings along (`codex debug models`):
/// for easier tasks, for everyday work, for the most demanding. `OPENAI_API_KEY` is no credential: `codex exec` does
/// not read it.
pub(super) const FACTS: Facts = Facts {
    program: "codex",
    models: &["gpt-6-luna", "gpt-6.1-sol", "gpt-6-astra"],
    tested: "0.166.0",
    install: "npm install -g @openai/codex",
    login: "run `codex login`, or set CODEX_API_KEY",
    credential_variables: &["CODEX_API_KEY", "CODEX_ACCESS_TOKEN"],
    credential_files: &[CredentialFile {
        moved_by: "CODEX_HOME",
        usual: ".codex",
        file: "auth.json",
    }],
};
