//! OpenAI's Chat Completions API: whole completions, their pieces in a stream, errors.

use serde_json::{Value, json};

use super::dialect::{Content, Dialect, Event};
use super::http::Call;

/// The API that OpenCode speaks to most services.
pub struct Chat;

impl Dialect for Chat {
    fn takes(&self, call: &Call) -> bool {
        call.method == "POST" && call.path.ends_with("/chat/completions")
    }

    fn is_side(&self, body: &Value) -> bool {
        body["tools"].as_array().is_none_or(Vec::is_empty)
    }

    fn session(&self, call: &Call, _body: &Value) -> String {
        call.header("x-session-id").unwrap_or_default().to_owned()
    }

    fn brings_tool_result(&self, body: &Value) -> bool {
        let messages = body["messages"].as_array();
        let last = messages.and_then(|messages| messages.last());
        last.is_some_and(|message| message["role"] == "tool")
    }

    fn streams(&self, _call: &Call, body: &Value) -> bool {
        body["stream"] == true
    }

    /// The answer in two pieces, the reason for its end, its tokens.
    fn events(&self, body: &Value, id: usize, content: Content<'_>) -> Vec<Event> {
        let (pieces, reason) = match content {
            Content::Text(text) => {
                let (first, second) = text.split_at(text.floor_char_boundary(text.len() / 2));
                let first = json!({"role": "assistant", "content": first});
                ([first, json!({"content": second})], "stop")
            }
            Content::Tool { name, input } => {
                let words = json!({"role": "assistant", "content": "Using a tool."});
                let calls = json!({"tool_calls": [tool_call(id, name, input)]});
                ([words, calls], "tool_calls")
            }
        };
        let choice = |delta: &Value, reason: Option<&str>| json!([{"index": 0, "delta": delta, "finish_reason": reason}]);
        let choices = pieces.iter().map(|piece| choice(piece, None));
        let choices = choices.chain([choice(&json!({}), Some(reason))]);
        let mut events: Vec<Value> =
            choices.map(|choices| opening(body, id, "chat.completion.chunk", choices)).collect();
        let mut last = opening(body, id, "chat.completion.chunk", json!([]));
        last["usage"] = usage();
        events.extend([last, json!("[DONE]")]);
        let unnamed = |data| Event { name: None, data };
        events.into_iter().map(unnamed).collect()
    }

    /// The first piece.
    fn half(&self) -> usize {
        1
    }

    fn whole(&self, body: &Value, id: usize, content: Content<'_>) -> Value {
        let (message, reason) = match content {
            Content::Text(text) => (json!({"role": "assistant", "content": text}), "stop"),
            Content::Tool { name, input } => {
                let calls = json!([tool_call(id, name, input)]);
                let message = json!({"role": "assistant", "content": "Using a tool.", "tool_calls": calls});
                (message, "tool_calls")
            }
        };
        let choices = json!([{"index": 0, "message": message, "finish_reason": reason}]);
        let mut completion = opening(body, id, "chat.completion", choices);
        completion["usage"] = usage();
        completion
    }

    fn error(&self, status: u16) -> Value {
        let (kind, code, message) = match status {
            400 => ("invalid_request_error", None, "bad request"),
            401 => ("invalid_request_error", Some("invalid_api_key"), "Incorrect API key provided"),
            404 => ("invalid_request_error", Some("model_not_found"), "no such model"),
            429 => ("requests", Some("rate_limit_exceeded"), "rate limited"),
            529 => ("overloaded_error", None, "Overloaded"),
            _ => ("server_error", None, "Internal server error"),
        };
        json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
    }
}

fn opening(body: &Value, id: usize, object: &str, choices: Value) -> Value {
    json!({"id": format!("chatcmpl-{id:04}"), "object": object, "created": 1, "model": body["model"], "choices": choices})
}

fn tool_call(id: usize, name: &str, input: &Value) -> Value {
    let function = json!({"name": name, "arguments": input.to_string()});
    json!({"index": 0, "id": format!("call_{id:04}"), "type": "function", "function": function})
}

fn usage() -> Value {
    json!({"prompt_tokens": 1000, "completion_tokens": 7, "total_tokens": 1007})
}
