//! The events of Claude Code's stream, as far as Ralph reads them.
//!
//! Every field is read on its own: one that is missing, of another type or broken costs only itself, because
//! the program changes often and a result must not be lost over a field nobody needs.

use super::super::json::{Text, each_by_itself};

each_by_itself! {
    /// One line of the stream.
    pub(super) struct Event {
        #[serde(rename = "type")]
        pub kind: Option<Text>,
        pub subtype: Option<Text>,
        pub session_id: Option<Text>,
        /// Set on what a sub-agent says: its words and errors are not the session's.
        pub parent_tool_use_id: Option<Text>,
    }
}

each_by_itself! {
    /// `system/init`.
    pub(super) struct Init {
        pub model: Option<Text>,
        pub cwd: Option<Text>,
    }
}

each_by_itself! {
    /// `system/model_fallback` and its relatives: another model answers from here on.
    pub(super) struct Fallback {
        pub fallback_model: Option<Text>,
    }
}

each_by_itself! {
    /// `system/api_retry`.
    pub(super) struct Retry {
        pub attempt: Option<u64>,
        pub max_retries: Option<u64>,
        pub error_status: Option<u16>,
        pub error: Option<Text>,
    }
}

each_by_itself! {
    /// `rate_limit_event`.
    pub(super) struct Limit {
        pub rate_limit_info: Option<LimitInfo>,
    }
}

each_by_itself! {
    /// What the service said about a usage limit.
    #[serde(rename_all = "camelCase")]
    pub(super) struct LimitInfo {
        pub status: Option<Text>,
        pub resets_at: Option<i64>,
        pub rate_limit_type: Option<Text>,
        pub utilization: Option<f64>,
    }
}

each_by_itself! {
    /// `assistant`: what the model said or did, or the error that came in place of an answer.
    pub(super) struct Assistant {
        pub message: Option<Message>,
        pub is_api_error_message: Option<bool>,
        pub error: Option<Text>,
        pub api_error: Option<Text>,
        pub api_error_type: Option<Text>,
        pub api_error_status: Option<u16>,
        pub api_error_params: Option<Limit>,
    }
}

each_by_itself! {
    /// The message inside `assistant`.
    pub(super) struct Message {
        pub content: Vec<Block>,
    }
}

each_by_itself! {
    /// A content block: text has `text`, a tool's use has `name` and `input`.
    pub(super) struct Block {
        #[serde(rename = "type")]
        pub kind: Option<Text>,
        pub text: Option<Text>,
        pub name: Option<Text>,
        pub input: Option<ToolInput>,
    }
}

each_by_itself! {
    /// The inputs that tell people what a tool is used on.
    pub(super) struct ToolInput {
        pub file_path: Option<Text>,
        pub notebook_path: Option<Text>,
        pub command: Option<Text>,
        pub pattern: Option<Text>,
        pub url: Option<Text>,
        pub query: Option<Text>,
        pub path: Option<Text>,
        pub skill: Option<Text>,
        pub description: Option<Text>,
    }
}

each_by_itself! {
    /// `result`: how a turn of the session ended. Usually the last line, and the only one of its kind.
    pub(super) struct Outcome {
        pub subtype: Option<Text>,
        pub is_error: Option<bool>,
        pub result: Option<Text>,
        pub errors: Vec<Text>,
        pub stop_reason: Option<Text>,
        pub terminal_reason: Option<Text>,
        pub api_error_status: Option<u16>,
        pub api_error: Option<Text>,
        pub api_error_type: Option<Text>,
        pub total_cost_usd: Option<f64>,
        pub usage: Option<Tokens>,
        pub permission_denials: Vec<Denial>,
    }
}

each_by_itself! {
    /// Token counts of a result.
    pub(super) struct Tokens {
        pub input_tokens: Option<u64>,
        pub output_tokens: Option<u64>,
        pub cache_read_input_tokens: Option<u64>,
        pub cache_creation_input_tokens: Option<u64>,
    }
}

each_by_itself! {
    /// A tool's use that was not allowed.
    pub(super) struct Denial {
        pub tool_name: Option<Text>,
    }
}
