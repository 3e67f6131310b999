//! The events of Codex's stream, as far as Ralph reads them.
//!
//! Every field is read on its own: one that is missing, of another type or broken costs only itself. Ids of items are
//! not read, because a search prints its own beside the item's, and no reader takes a field that is there twice.

use serde::Deserialize;

use super::super::json::{Text, lenient, lenient_list};

/// One line of the stream.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Event {
    #[serde(rename = "type", deserialize_with = "lenient")]
    pub kind: Option<Text>,
    /// Of `thread.started`.
    #[serde(deserialize_with = "lenient")]
    pub thread_id: Option<Text>,
    /// Of `item.started`, `item.updated`, `item.completed`.
    #[serde(deserialize_with = "lenient")]
    pub item: Option<Item>,
    /// Of `error`.
    #[serde(deserialize_with = "lenient")]
    pub message: Option<Text>,
    /// Of `turn.failed`.
    #[serde(deserialize_with = "lenient")]
    pub error: Option<Told>,
    /// Of `turn.completed`.
    #[serde(deserialize_with = "lenient")]
    pub usage: Option<Tokens>,
}

/// Codex's own words on an error.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Told {
    #[serde(deserialize_with = "lenient")]
    pub message: Option<Text>,
}

/// Something that was said or done.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Item {
    #[serde(rename = "type", deserialize_with = "lenient")]
    pub kind: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub status: Option<Text>,
    /// Of `agent_message`.
    #[serde(deserialize_with = "lenient")]
    pub text: Option<Text>,
    /// Of `error`, which is a warning.
    #[serde(deserialize_with = "lenient")]
    pub message: Option<Text>,
    /// Of `command_execution`.
    #[serde(deserialize_with = "lenient")]
    pub command: Option<Text>,
    /// Of `file_change`.
    #[serde(deserialize_with = "lenient_list")]
    pub changes: Vec<Change>,
    /// Of `mcp_tool_call`.
    #[serde(deserialize_with = "lenient")]
    pub server: Option<Text>,
    /// Of `mcp_tool_call` and `collab_tool_call`.
    #[serde(deserialize_with = "lenient")]
    pub tool: Option<Text>,
    /// Of `collab_tool_call`.
    #[serde(deserialize_with = "lenient")]
    pub prompt: Option<Text>,
    /// Of `web_search`.
    #[serde(deserialize_with = "lenient")]
    pub query: Option<Text>,
}

/// One file of a `file_change`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Change {
    #[serde(deserialize_with = "lenient")]
    pub path: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub kind: Option<Text>,
}

/// Token counts of the whole thread so far.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Tokens {
    /// With those read from a cache and those written to one.
    #[serde(deserialize_with = "lenient")]
    pub input_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    pub cached_input_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    pub cache_write_input_tokens: Option<u64>,
    /// With those of the model's reasoning.
    #[serde(deserialize_with = "lenient")]
    pub output_tokens: Option<u64>,
}

/// A bad request's answer, which Codex passes on as it came.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Refusal {
    #[serde(deserialize_with = "lenient")]
    pub error: Option<RefusedFor>,
    #[serde(deserialize_with = "lenient")]
    pub detail: Option<Text>,
}

/// Why a request was refused.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RefusedFor {
    #[serde(deserialize_with = "lenient")]
    pub code: Option<Text>,
    #[serde(deserialize_with = "lenient")]
    pub message: Option<Text>,
}
