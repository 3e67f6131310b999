//! Gemini CLI as an agent: how it is started, what its event stream says, what class its faults are.

mod agent;
mod api_error;
mod classify;
mod events;
#[cfg(test)]
mod fault_tests;
mod launch;
mod prompt;
#[cfg(test)]
mod recorded_tests;
mod stream;
#[cfg(test)]
mod stream_tests;
mod tools;
mod words;

pub use agent::Gemini;
pub use launch::{arguments, environment};
pub use stream::GeminiStream;

use super::{CredentialFile, Facts};

/// What is known of Gemini CLI before it is started.
pub(super) const FACTS: Facts = Facts {
    program: "gemini",
    // Names that the program resolves to the models of the day which the account may use.
    models: &["flash-lite", "flash", "pro"],
    tested: "0.61.0",
    install: "npm install -g @google/gemini-cli",
    login: "run `gemini` once and log in, or set GEMINI_API_KEY",
    credential_variables: &[
        "GEMINI_API_KEY",
        "GOOGLE_GENAI_USE_VERTEXAI",
        "GOOGLE_GENAI_USE_GCA",
        "GEMINI_CLI_USE_COMPUTE_ADC",
    ],
    credential_files: &[
        below_home(".gemini/oauth_creds.json"),
        below_home(".gemini/gemini-credentials.json"),
        below_home(".gemini/.env"),
    ],
};

const fn below_home(file: &'static str) -> CredentialFile {
    CredentialFile {
        moved_by: "GEMINI_CLI_HOME",
        usual: "",
        file,
    }
}
