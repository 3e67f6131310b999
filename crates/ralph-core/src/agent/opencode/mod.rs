//! OpenCode as an agent: how it is started, what its event stream says, what class its faults are.

mod agent;
mod brief;
mod classify;
mod events;
mod launch;
#[cfg(test)]
mod recorded_tests;
mod reset;
mod stream;
#[cfg(test)]
mod stream_tests;

pub use agent::Opencode;
pub use launch::arguments;
pub use stream::OpencodeStream;

use super::{CredentialFile, Facts};

/// What is known of OpenCode before it is started.
pub(super) const FACTS: Facts = Facts {
    program: "opencode",
    // They are `provider/model` and depend on the user's providers: the user's own default stands.
    models: &[],
    tested: "1.18.33",
    install: "npm install -g opencode-ai",
    login: "opencode auth login",
    // Any provider's key will do; these are the usual ones.
    credential_variables: &[
        "OPENCODE_API_KEY",
        "OPENCODE_AUTH_CONTENT",
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "OPENROUTER_API_KEY",
        "GEMINI_API_KEY",
        "GOOGLE_GENERATIVE_AI_API_KEY",
    ],
    credential_files: &[CredentialFile {
        moved_by: "XDG_DATA_HOME",
        usual: ".local/share",
        file: "opencode/auth.json",
    }],
};
