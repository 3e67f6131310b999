//! Anthropic's Messages API: whole messages, their events in a stream, errors.

use serde_json::{Value, json};

use super::dialect::{Content, Dialect, Event};
use super::http::Call;

/// The API that Claude Code speaks.
pub struct Messages;

impl Dialect for Messages {
    fn takes(&self, call: &Call) -> bool {
        call.method == "POST" && (call.path.ends_with("/v1/messages") || is_count(call))
    }

    fn small_talk(&self, call: &Call) -> Option<Value> {
        is_count(call).then(|| json!({"input_tokens": 42}))
    }

    fn is_side(&self, body: &Value) -> bool {
        body["tools"].as_array().is_none_or(Vec::is_empty)
    }

    fn session(&self, call: &Call, _body: &Value) -> String {
        let id = call.header("x-claude-code-session-id");
        id.unwrap_or_default().to_owned()
    }

    fn brings_tool_result(&self, body: &Value) -> bool {
        brings_tool_result(body)
    }

    fn streams(&self, _call: &Call, body: &Value) -> bool {
        body["stream"] == true
    }

    fn events(&self, body: &Value, id: usize, content: Content<'_>) -> Vec<Event> {
        let (blocks, stop_reason) = blocks(id, content);
        let events = events(body, id, &blocks, stop_reason);
        let named = |data: Value| Event { name: data["type"].as_str().map(str::to_owned), data };
        events.into_iter().map(named).collect()
    }

    /// The start of the message, of a block, and the first half of its text.
    fn half(&self) -> usize {
        3
    }

    fn whole(&self, body: &Value, id: usize, content: Content<'_>) -> Value {
        let (blocks, stop_reason) = blocks(id, content);
        whole(body, id, &blocks, stop_reason)
    }

    fn error(&self, status: u16) -> Value {
        error(status)
    }
}

fn is_count(call: &Call) -> bool {
    call.path.ends_with("/v1/messages/count_tokens")
}

fn blocks(id: usize, content: Content<'_>) -> (Vec<Value>, &'static str) {
    match content {
        Content::Text(words) => (text(words), "end_turn"),
        Content::Tool { name, input } => (tool(id, name, input), "tool_use"),
    }
}

/// Content of one text.
fn text(text: &str) -> Vec<Value> {
    vec![json!({"type": "text", "text": text})]
}

/// Content that uses a tool.
fn tool(id: usize, name: &str, input: &Value) -> Vec<Value> {
    vec![
        json!({"type": "text", "text": "Using a tool."}),
        json!({"type": "tool_use", "id": format!("toolu_{id:04}"), "name": name, "input": input}),
    ]
}

/// Whether a tool's result stands after the model's last turn. The very last message may be another one.
fn brings_tool_result(body: &Value) -> bool {
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let since = messages.iter().rev().take_while(|message| message["role"] != "assistant");
    since
        .flat_map(|message| message["content"].as_array().map(Vec::as_slice).unwrap_or_default())
        .any(|block| block["type"] == "tool_result")
}

/// The body of an error.
pub fn error(status: u16) -> Value {
    let (kind, message) = match status {
        400 => ("invalid_request_error", "bad request"),
        401 => ("authentication_error", "invalid x-api-key"),
        403 => ("permission_error", "not allowed"),
        404 => ("not_found_error", "not found"),
        413 => ("request_too_large", "too large"),
        429 => ("rate_limit_error", "rate limited"),
        529 => ("overloaded_error", "Overloaded"),
        _ => ("api_error", "Internal server error"),
    };
    json!({"type": "error", "error": {"type": kind, "message": message}})
}

/// A message without its content, as it starts a stream.
fn opening(body: &Value, id: usize) -> Value {
    json!({
        "id": format!("msg_{id:04}"), "type": "message", "role": "assistant", "model": body["model"],
        "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": 1000, "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0, "output_tokens": 1, "service_tier": "standard"},
    })
}

/// A message in one piece.
fn whole(body: &Value, id: usize, blocks: &[Value], stop_reason: &str) -> Value {
    let mut message = opening(body, id);
    message["content"] = json!(blocks);
    message["stop_reason"] = json!(stop_reason);
    message["usage"]["output_tokens"] = json!(7);
    message
}

/// A message as the events of a stream; texts come in two halves.
fn events(body: &Value, id: usize, blocks: &[Value], stop_reason: &str) -> Vec<Value> {
    let mut events = vec![json!({"type": "message_start", "message": opening(body, id)})];
    for (index, block) in blocks.iter().enumerate() {
        let mut start = block.clone();
        let deltas = match block["text"].as_str() {
            Some(text) => {
                start["text"] = json!("");
                let (first, second) = text.split_at(text.floor_char_boundary(text.len() / 2));
                [first, second].map(|half| json!({"type": "text_delta", "text": half})).to_vec()
            }
            None => {
                let input = block["input"].to_string();
                start["input"] = json!({});
                vec![json!({"type": "input_json_delta", "partial_json": input})]
            }
        };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        events.extend(
            deltas
                .into_iter()
                .map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta})),
        );
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let delta = json!({"stop_reason": stop_reason, "stop_sequence": null});
    events.push(json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 7}}));
    events.push(json!({"type": "message_stop"}));
    events
}
