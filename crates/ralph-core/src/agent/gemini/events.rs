//! The events of Gemini CLI's stream, as far as Ralph reads them.
//!
//! Every field is read on its own: one that is missing, of another type or broken costs only itself.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::super::json::{Text, lenient};

/// One line of the stream.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Event {
    #[serde(rename = "type", deserialize_with = "lenient")]
    pub kind: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub timestamp: Option<Text>,
}

/// `init`: the session begins.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Init {
    #[serde(deserialize_with = "lenient")]
    pub session_id: Option<Text>,
    /// The model asked for, perhaps by a name such as `pro`.
    #[serde(deserialize_with = "lenient")]
    pub model: Option<Text>,
}

/// `message`: the prompt again, or a piece of what the assistant says.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message {
    #[serde(deserialize_with = "lenient")]
    pub role: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub content: Option<Text>,
    /// Whether it continues what was said before.
    #[serde(deserialize_with = "lenient")]
    pub delta: Option<bool>,
}

/// `tool_use`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ToolUse {
    #[serde(deserialize_with = "lenient")]
    pub tool_name: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub tool_id: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub parameters: Option<Parameters>,
}

/// The parameters that tell people what a tool is used on.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Parameters {
    #[serde(deserialize_with = "lenient")]
    pub file_path: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub command: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub pattern: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub dir_path: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub url: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub query: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub agent_name: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub name: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub title: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub prompt: Option<Text>,
}

/// `tool_result`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ToolResult {
    #[serde(deserialize_with = "lenient")]
    pub tool_id: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub status: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub error: Option<ErrorInfo>,
}

/// What went wrong, in a result.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ErrorInfo {
    #[serde(rename = "type", deserialize_with = "lenient")]
    pub kind: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub message: Option<Text>,
}

/// `error`: something the program noticed; the session may go on.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Notice {
    #[serde(deserialize_with = "lenient")]
    pub severity: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub message: Option<Text>,
}

/// `result`: how the session ended.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Outcome {
    #[serde(deserialize_with = "lenient")]
    pub status: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub error: Option<ErrorInfo>,
    #[serde(deserialize_with = "lenient")]
    pub stats: Option<Stats>,
}

/// What the session used, in all.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Stats {
    #[serde(deserialize_with = "lenient")]
    pub total_tokens: Option<u64>,
    /// With those from a cache.
    #[serde(deserialize_with = "lenient")]
    pub input_tokens: Option<u64>,
    /// Without what the model thought to itself.
    #[serde(deserialize_with = "lenient")]
    pub output_tokens: Option<u64>,
    /// Read from a cache.
    #[serde(deserialize_with = "lenient")]
    pub cached: Option<u64>,
    /// By the full names of the models that answered.
    #[serde(deserialize_with = "lenient")]
    pub models: Option<BTreeMap<String, ModelStats>>,
}

/// What one model used.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ModelStats {
    #[serde(deserialize_with = "lenient")]
    pub total_tokens: Option<u64>,
}
