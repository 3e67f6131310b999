//! The events of Gemini CLI's stream, as far as Ralph reads them.
//!
//! Every field is read on its own: one that is missing, of another type or broken costs only itself.

use std::collections::BTreeMap;

use super::super::json::{Text, each_by_itself};

each_by_itself! {
    /// One line of the stream.
    pub(super) struct Event {
        #[serde(rename = "type")]
        pub kind: Option<Text>,
        pub timestamp: Option<Text>,
    }
}

each_by_itself! {
    /// `init`: the session begins.
    pub(super) struct Init {
        pub session_id: Option<Text>,
        /// The model asked for, perhaps by a name such as `pro`.
        pub model: Option<Text>,
    }
}

each_by_itself! {
    /// `message`: the prompt again, or a piece of what the assistant says.
    pub(super) struct Message {
        pub role: Option<Text>,
        pub content: Option<Text>,
        /// Whether it continues what was said before.
        pub delta: Option<bool>,
    }
}

each_by_itself! {
    /// `tool_use`.
    pub(super) struct ToolUse {
        pub tool_name: Option<Text>,
        pub tool_id: Option<Text>,
        pub parameters: Option<Parameters>,
    }
}

each_by_itself! {
    /// The parameters that tell people what a tool is used on.
    pub(super) struct Parameters {
        pub file_path: Option<Text>,
        pub command: Option<Text>,
        pub pattern: Option<Text>,
        pub dir_path: Option<Text>,
        pub url: Option<Text>,
        pub query: Option<Text>,
        pub agent_name: Option<Text>,
        pub name: Option<Text>,
        pub title: Option<Text>,
        pub prompt: Option<Text>,
    }
}

each_by_itself! {
    /// `tool_result`.
    pub(super) struct ToolResult {
        pub tool_id: Option<Text>,
        pub status: Option<Text>,
        pub error: Option<ErrorInfo>,
    }
}

each_by_itself! {
    /// What went wrong, in a result.
    pub(super) struct ErrorInfo {
        #[serde(rename = "type")]
        pub kind: Option<Text>,
        pub message: Option<Text>,
    }
}

each_by_itself! {
    /// `error`: something the program noticed; the session may go on.
    pub(super) struct Notice {
        pub severity: Option<Text>,
        pub message: Option<Text>,
    }
}

each_by_itself! {
    /// `result`: how the session ended.
    pub(super) struct Outcome {
        pub status: Option<Text>,
        pub error: Option<ErrorInfo>,
        pub stats: Option<Stats>,
    }
}

each_by_itself! {
    /// What the session used, in all.
    pub(super) struct Stats {
        pub total_tokens: Option<u64>,
        /// With those from a cache.
        pub input_tokens: Option<u64>,
        /// Without what the model thought to itself.
        pub output_tokens: Option<u64>,
        /// Read from a cache.
        pub cached: Option<u64>,
        /// By the full names of the models that answered.
        pub models: Option<BTreeMap<String, ModelStats>>,
    }
}

each_by_itself! {
    /// What one model used.
    pub(super) struct ModelStats {
        pub total_tokens: Option<u64>,
    }
}
