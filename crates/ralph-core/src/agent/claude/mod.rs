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
pub use launch::{arguments, environment};
pub use stream::ClaudeStream;

use super::{CredentialFile, Facts};

/// What is known of Claude Code before it is started.
pub(super) const FACTS: Facts = Facts {
    program: "claude",
    models: &["haiku", "sonnet", "opus"],
    tested: "2.1.325",
    install: "npm install -g @anthropic-ai/claude-code",
    login: "run `claude` once and log in, or set ANTHROPIC_API_KEY",
    credential_variables: &[
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_USE_VERTEX",
    ],
    credential_files: &[CredentialFile {
        moved_by: "CLAUDE_CONFIG_DIR",
        usual: ".claude",
        file: ".credentials.json",
    }],
};
