//! The events of Codex's stream, as far as Ralph reads them.
//!
//! Every field is read on its own: one that is missing, of another type or broken costs only itself. Ids of items are
//! not read, because a search prints its own beside the item's, and no reader takes a field that is there twice.

use super::super::json::{Text, each_by_itself};

each_by_itself! {
    /// One line of the stream.
    pub(super) struct Event {
        #[serde(rename = "type")]
        pub kind: Option<Text>,
        /// Of `thread.started`.
        pub thread_id: Option<Text>,
        /// Of `item.started`, `item.updated`, `item.completed`.
        pub item: Option<Item>,
        /// Of `error`.
        pub message: Option<Text>,
        /// Of `turn.failed`.
        pub error: Option<Told>,
        /// Of `turn.completed`.
        pub usage: Option<Tokens>,
    }
}

each_by_itself! {
    /// Codex's own words on an error.
    pub(super) struct Told {
        pub message: Option<Text>,
    }
}

each_by_itself! {
    /// Something that was said or done.
    pub(super) struct Item {
        #[serde(rename = "type")]
        pub kind: Option<Text>,
        pub status: Option<Text>,
        /// Of `agent_message`.
        pub text: Option<Text>,
        /// Of `error`, which is a warning.
        pub message: Option<Text>,
        /// Of `command_execution`.
        pub command: Option<Text>,
        /// Of `file_change`.
        pub changes: Vec<Change>,
        /// Of `mcp_tool_call`.
        pub server: Option<Text>,
        /// Of `mcp_tool_call` and `collab_tool_call`.
        pub tool: Option<Text>,
        /// Of `collab_tool_call`.
        pub prompt: Option<Text>,
        /// Of `web_search`.
        pub query: Option<Text>,
    }
}

each_by_itself! {
    /// One file of a `file_change`.
    pub(super) struct Change {
        pub path: Option<Text>,
        pub kind: Option<Text>,
    }
}

each_by_itself! {
    /// Token counts of the whole thread so far.
    pub(super) struct Tokens {
        /// With those read from a cache and those written to one.
        pub input_tokens: Option<u64>,
        pub cached_input_tokens: Option<u64>,
        pub cache_write_input_tokens: Option<u64>,
        /// With those of the model's reasoning.
        pub output_tokens: Option<u64>,
    }
}

each_by_itself! {
    /// A bad request's answer, which Codex passes on as it came.
    pub(super) struct Refusal {
        pub error: Option<RefusedFor>,
        pub detail: Option<Text>,
    }
}

each_by_itself! {
    /// Why a request was refused.
    pub(super) struct RefusedFor {
        pub code: Option<Text>,
        pub message: Option<Text>,
    }
}
