//! The events of Claude Code's stream, as far as Ralph reads them.
//!
//! Every field is read on its own: one that is missing, of another type or broken costs only itself, because
//! the program changes often and a result must not be lost over a field nobody needs.

use serde::Deserialize;

use super::super::json::{Text, lenient, lenient_list};

/// One line of the stream.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Event {
    #[serde(rename = "type", deserialize_with = "lenient")]
    pub kind: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub subtype: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub session_id: Option<Text>,
    /// Set on what a sub-agent says: its words and errors are not the session's.
    #[serde(deserialize_with = "lenient")]
    pub parent_tool_use_id: Option<Text>,
}

/// `system/init`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Init {
    #[serde(deserialize_with = "lenient")]
    pub model: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub cwd: Option<Text>,
}

/// `system/model_fallback` and its relatives: another model answers from here on.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Fallback {
    #[serde(deserialize_with = "lenient")]
    pub fallback_model: Option<Text>,
}

/// `system/api_retry`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Retry {
    #[serde(deserialize_with = "lenient")]
    pub attempt: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    pub max_retries: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    pub error_status: Option<u16>,
    #[serde(deserialize_with = "lenient")]
    pub error: Option<Text>,
}

/// `rate_limit_event`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Limit {
    #[serde(deserialize_with = "lenient")]
    pub rate_limit_info: Option<LimitInfo>,
}

/// What the service said about a usage limit.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct LimitInfo {
    #[serde(deserialize_with = "lenient")]
    pub status: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub resets_at: Option<i64>,
    #[serde(deserialize_with = "lenient")]
    pub rate_limit_type: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub utilization: Option<f64>,
}

/// `assistant`: what the model said or did, or the error that came in place of an answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Assistant {
    #[serde(deserialize_with = "lenient")]
    pub message: Option<Message>,
    #[serde(deserialize_with = "lenient")]
    pub is_api_error_message: Option<bool>,
    #[serde(deserialize_with = "lenient")]
    pub error: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub api_error: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub api_error_type: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub api_error_status: Option<u16>,
    #[serde(deserialize_with = "lenient")]
    pub api_error_params: Option<Limit>,
}

/// The message inside `assistant`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message {
    #[serde(deserialize_with = "lenient_list")]
    pub content: Vec<Block>,
}

/// A content block: text has `text`, a tool's use has `name` and `input`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Block {
    #[serde(rename = "type", deserialize_with = "lenient")]
    pub kind: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub text: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub name: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub input: Option<ToolInput>,
}

/// The inputs that tell people what a tool is used on.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ToolInput {
    #[serde(deserialize_with = "lenient")]
    pub file_path: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub notebook_path: Option<Text>,
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
    pub skill: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub description: Option<Text>,
}

/// `result`: how a turn of the session ended. Usually the last line, and the only one of its kind.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Outcome {
    #[serde(deserialize_with = "lenient")]
    pub subtype: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub is_error: Option<bool>,
    #[serde(deserialize_with = "lenient")]
    pub result: Option<Text>,
    #[serde(deserialize_with = "lenient_list")]
    pub errors: Vec<Text>,
    #[serde(deserialize_with = "lenient")]
    pub stop_reason: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub terminal_reason: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub api_error_status: Option<u16>,
    #[serde(deserialize_with = "lenient")]
    pub api_error: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub api_error_type: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub total_cost_usd: Option<f64>,
    #[serde(deserialize_with = "lenient")]
    pub usage: Option<Tokens>,
    #[serde(deserialize_with = "lenient_list")]
    pub permission_denials: Vec<Denial>,
}

/// Token counts of a result.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Tokens {
    #[serde(deserialize_with = "lenient")]
    pub input_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    pub output_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    pub cache_read_input_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    pub cache_creation_input_tokens: Option<u64>,
}

/// A tool's use that was not allowed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Denial {
    #[serde(deserialize_with = "lenient")]
    pub tool_name: Option<Text>,
}
