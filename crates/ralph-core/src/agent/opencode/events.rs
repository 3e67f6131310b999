//! The events of OpenCode's stream, as far as Ralph reads them: `opencode run --format json`.
//!
//! Every field is read on its own: one that is missing, of another type or broken costs only itself.

use serde::Deserialize;

use super::super::json::{Text, lenient, lenient_list};

/// One line of the stream. Those of sub-agents' sessions are not printed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Event {
    #[serde(rename = "type", deserialize_with = "lenient")]
    pub kind: Option<Text>,
    /// Milliseconds since 1970.
    #[serde(deserialize_with = "lenient")]
    pub timestamp: Option<i64>,
    #[serde(rename = "sessionID", deserialize_with = "lenient")]
    pub session_id: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub part: Option<Part>,
    #[serde(deserialize_with = "lenient")]
    pub error: Option<Failure>,
}

/// What `step_start`, `text`, `tool_use` and `step_finish` are about.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Part {
    #[serde(rename = "messageID", deserialize_with = "lenient")]
    pub message_id: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub text: Option<Text>,
    /// Set on what the program says to the model, such as to go on after a summary.
    #[serde(deserialize_with = "lenient")]
    pub synthetic: Option<bool>,
    #[serde(deserialize_with = "lenient")]
    pub tool: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub state: Option<ToolState>,
    /// Why a step ended: `stop`, `tool-calls`, `length`, `content-filter`, `unknown`.
    #[serde(deserialize_with = "lenient")]
    pub reason: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub tokens: Option<Tokens>,
    /// Dollars; 0 also for a model whose price is not known.
    #[serde(deserialize_with = "lenient")]
    pub cost: Option<f64>,
}

/// How the use of a tool ended; it is told of only then.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ToolState {
    #[serde(deserialize_with = "lenient")]
    pub status: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub input: Option<ToolInput>,
    #[serde(deserialize_with = "lenient")]
    pub title: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub error: Option<Text>,
}

/// The inputs that tell people what a tool is used on.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ToolInput {
    #[serde(rename = "filePath", deserialize_with = "lenient")]
    pub file_path: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub command: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub pattern: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub url: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub query: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub path: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub name: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub description: Option<Text>,
}

/// Token counts of a step; no number includes another.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Tokens {
    #[serde(deserialize_with = "lenient")]
    pub input: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    pub output: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    pub reasoning: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    pub cache: Option<Cache>,
}

/// Token counts of a cache.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Cache {
    #[serde(deserialize_with = "lenient")]
    pub read: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    pub write: Option<u64>,
}

/// What an `error` event is about.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Failure {
    #[serde(deserialize_with = "lenient")]
    pub name: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub data: Option<FailureData>,
}

/// What is known of it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct FailureData {
    #[serde(deserialize_with = "lenient")]
    pub message: Option<Text>,
    /// HTTP status, where there was an HTTP answer.
    #[serde(deserialize_with = "lenient")]
    pub status_code: Option<u16>,
    #[serde(deserialize_with = "lenient")]
    pub is_retryable: Option<bool>,
    #[serde(deserialize_with = "lenient")]
    pub response_headers: Option<Headers>,
    #[serde(deserialize_with = "lenient")]
    pub response_body: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub metadata: Option<Metadata>,
    /// Where the program's own log tells of an error that it keeps to itself.
    #[serde(rename = "ref", deserialize_with = "lenient")]
    pub reference: Option<Text>,
}

/// Headers that say how long a limit lasts.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub(super) struct Headers {
    #[serde(deserialize_with = "lenient")]
    pub retry_after: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub retry_after_ms: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub anthropic_ratelimit_unified_reset: Option<Text>,
}

/// The request, or what became of its connection.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Metadata {
    #[serde(deserialize_with = "lenient")]
    pub url: Option<Text>,
    /// `ECONNRESET`, `ProviderHeaderTimeoutError` and the like.
    #[serde(deserialize_with = "lenient")]
    pub code: Option<Text>,
}

/// A service's error as it sent it, where it is in an envelope.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ServiceEnvelope {
    #[serde(deserialize_with = "lenient")]
    pub error: Option<ServiceFields>,
}

/// The fields of a service's error.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ServiceFields {
    #[serde(rename = "type", deserialize_with = "lenient")]
    pub kind: Option<Text>,
    /// A word, or an HTTP status.
    #[serde(deserialize_with = "lenient")]
    pub code: Option<Code>,
    #[serde(deserialize_with = "lenient")]
    pub status: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub message: Option<Text>,
    #[serde(deserialize_with = "lenient_list")]
    pub details: Vec<Detail>,
}

/// A word or a number.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Code {
    Status(u16),
    Word(String),
}

/// A detail of Google's errors.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Detail {
    #[serde(deserialize_with = "lenient")]
    pub reason: Option<Text>,
}
