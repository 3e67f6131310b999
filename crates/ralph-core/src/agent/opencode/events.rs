//! The events of OpenCode's stream, as far as Ralph reads them: `opencode run --format json`.
//!
//! Every field is read on its own: one that is missing, of another type or broken costs only itself.

use serde::Deserialize;

use super::super::json::{Text, each_by_itself};

each_by_itself! {
    /// One line of the stream. Those of sub-agents' sessions are not printed.
    pub(super) struct Event {
        #[serde(rename = "type")]
        pub kind: Option<Text>,
        /// Milliseconds since 1970.
        pub timestamp: Option<i64>,
        #[serde(rename = "sessionID")]
        pub session_id: Option<Text>,
        pub part: Option<Part>,
        pub error: Option<Failure>,
    }
}

each_by_itself! {
    /// What `step_start`, `text`, `tool_use` and `step_finish` are about.
    pub(super) struct Part {
        #[serde(rename = "messageID")]
        pub message_id: Option<Text>,
        pub text: Option<Text>,
        /// Set on what the program says to the model, such as to go on after a summary.
        pub synthetic: Option<bool>,
        pub tool: Option<Text>,
        pub state: Option<ToolState>,
        /// Why a step ended: `stop`, `tool-calls`, `length`, `content-filter`, `unknown`.
        pub reason: Option<Text>,
        pub tokens: Option<Tokens>,
        /// Dollars; 0 also for a model whose price is not known.
        pub cost: Option<f64>,
    }
}

each_by_itself! {
    /// How the use of a tool ended; it is told of only then.
    pub(super) struct ToolState {
        pub status: Option<Text>,
        pub input: Option<ToolInput>,
        pub title: Option<Text>,
        pub error: Option<Text>,
    }
}

each_by_itself! {
    /// The inputs that tell people what a tool is used on.
    pub(super) struct ToolInput {
        #[serde(rename = "filePath")]
        pub file_path: Option<Text>,
        pub command: Option<Text>,
        pub pattern: Option<Text>,
        pub url: Option<Text>,
        pub query: Option<Text>,
        pub path: Option<Text>,
        pub name: Option<Text>,
        pub description: Option<Text>,
    }
}

each_by_itself! {
    /// Token counts of a step; no number includes another.
    pub(super) struct Tokens {
        pub input: Option<u64>,
        pub output: Option<u64>,
        pub reasoning: Option<u64>,
        pub cache: Option<Cache>,
    }
}

each_by_itself! {
    /// Token counts of a cache.
    pub(super) struct Cache {
        pub read: Option<u64>,
        pub write: Option<u64>,
    }
}

each_by_itself! {
    /// What an `error` event is about.
    pub(super) struct Failure {
        pub name: Option<Text>,
        pub data: Option<FailureData>,
    }
}

each_by_itself! {
    /// What is known of it.
    #[serde(rename_all = "camelCase")]
    pub(super) struct FailureData {
        pub message: Option<Text>,
        /// HTTP status, where there was an HTTP answer.
        pub status_code: Option<u16>,
        pub is_retryable: Option<bool>,
        pub response_headers: Option<Headers>,
        pub response_body: Option<Text>,
        pub metadata: Option<Metadata>,
        /// Where the program's own log tells of an error that it keeps to itself.
        #[serde(rename = "ref")]
        pub reference: Option<Text>,
    }
}

each_by_itself! {
    /// Headers that say how long a limit lasts.
    #[serde(rename_all = "kebab-case")]
    pub(super) struct Headers {
        pub retry_after: Option<Text>,
        pub retry_after_ms: Option<Text>,
        pub anthropic_ratelimit_unified_reset: Option<Text>,
    }
}

each_by_itself! {
    /// The request, or what became of its connection.
    pub(super) struct Metadata {
        pub url: Option<Text>,
        /// `ECONNRESET`, `ProviderHeaderTimeoutError` and the like.
        pub code: Option<Text>,
    }
}

each_by_itself! {
    /// A service's error as it sent it, where it is in an envelope.
    pub(super) struct ServiceEnvelope {
        pub error: Option<ServiceFields>,
    }
}

each_by_itself! {
    /// The fields of a service's error.
    pub(super) struct ServiceFields {
        #[serde(rename = "type")]
        pub kind: Option<Text>,
        /// A word, or an HTTP status.
        pub code: Option<Code>,
        pub status: Option<Text>,
        pub message: Option<Text>,
        pub details: Vec<Detail>,
    }
}

/// A word or a number.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Code {
    Status(u16),
    Word(String),
}

each_by_itself! {
    /// A detail of Google's errors.
    pub(super) struct Detail {
        pub reason: Option<Text>,
    }
}
