//! OpenAI's Responses API: answers as the events of a stream, errors.

use serde_json::{Value, json};

use super::dialect::{Content, Dialect, Event};
use super::http::Call;

/// The API that Codex speaks.
pub struct Responses;

impl Dialect for Responses {
    fn takes(&self, call: &Call) -> bool {
        call.method == "POST" && call.path.ends_with("/responses")
    }

    /// Newer models get their tools in an item of the input.
    fn is_side(&self, body: &Value) -> bool {
        let no_tools = |of: &Value| of["tools"].as_array().is_none_or(Vec::is_empty);
        no_tools(body) && items(body).iter().all(no_tools)
    }

    fn session(&self, call: &Call, _body: &Value) -> String {
        call.header("session-id").unwrap_or_default().to_owned()
    }

    fn brings_tool_result(&self, body: &Value) -> bool {
        let kind = |item: &Value| item["type"].as_str().unwrap_or_default().to_owned();
        let is_models = |item: &&Value| item["role"] == "assistant" || kind(item).ends_with("_call");
        let since = items(body).iter().rev().take_while(|item| !is_models(item));
        since.map(kind).any(|kind| kind.ends_with("_call_output"))
    }

    fn streams(&self, _call: &Call, body: &Value) -> bool {
        body["stream"] == true
    }

    fn events(&self, body: &Value, id: usize, content: Content<'_>) -> Vec<Event> {
        let answer = |output: Value, status: &str| response(body, id, status, &output);
        let mut events =
            vec![json!({"type": "response.created", "response": answer(json!([]), "in_progress")})];
        let output = output(id, content);
        for (index, item) in output.iter().enumerate() {
            events.extend(told(index, item));
        }
        let whole = answer(json!(output), "completed");
        events.push(json!({"type": "response.completed", "response": whole}));
        events.into_iter().map(named).collect()
    }

    /// The start of the answer, of an item, and the first half of its text.
    fn half(&self) -> usize {
        3
    }

    fn whole(&self, body: &Value, id: usize, content: Content<'_>) -> Value {
        response(body, id, "completed", &json!(output(id, content)))
    }

    fn error(&self, status: u16) -> Value {
        let (kind, code, message) = match status {
            400 => ("invalid_request_error", None, "bad request"),
            401 => ("invalid_request_error", Some("invalid_api_key"), "wrong API key"),
            403 => ("permission_error", None, "not allowed"),
            404 => ("invalid_request_error", Some("model_not_found"), "The model `m` does not exist"),
            413 => ("request_too_large", None, "too large"),
            429 => ("requests", Some("rate_limit_exceeded"), "rate limited"),
            529 => ("overloaded_error", None, "Overloaded"),
            _ => ("server_error", None, "Internal server error"),
        };
        json!({"error": {"type": kind, "code": code, "param": null, "message": message}})
    }

    fn overload(&self) -> Event {
        let error = json!({"code": "server_is_overloaded", "message": "Overloaded"});
        let response = json!({"id": "resp_0", "status": "failed", "error": error});
        named(json!({"type": "response.failed", "response": response}))
    }
}

fn items(body: &Value) -> &[Value] {
    let items = body["input"].as_array();
    items.map(Vec::as_slice).unwrap_or_default()
}

fn named(data: Value) -> Event {
    Event { name: data["type"].as_str().map(str::to_owned), data }
}

/// What an answer holds. A tool that takes text gets a text, any other its arguments as JSON.
fn output(id: usize, content: Content<'_>) -> Vec<Value> {
    let message = |text: &str| {
        json!({"type": "message", "id": format!("msg_{id:04}"), "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}]})
    };
    let call = format!("call_{id:04}");
    match content {
        Content::Text(words) => vec![message(words)],
        Content::Tool { name, input } => {
            let used = match input.as_str() {
                Some(text) => {
                    json!({"type": "custom_tool_call", "id": format!("ctc_{id:04}"), "call_id": call,
                    "name": name, "input": text})
                }
                None => {
                    json!({"type": "function_call", "id": format!("fc_{id:04}"), "call_id": call,
                    "name": name, "arguments": input.to_string()})
                }
            };
            vec![message("Using a tool."), used]
        }
    }
}

/// The events of one item; texts come in two halves.
fn told(index: usize, item: &Value) -> Vec<Value> {
    let mut started = item.clone();
    let mut deltas = Vec::new();
    if let Some(text) = item["content"][0]["text"].as_str() {
        started["content"] = json!([]);
        let (first, second) = text.split_at(text.floor_char_boundary(text.len() / 2));
        deltas.extend([first, second].map(|half| {
            json!({"type": "response.output_text.delta", "item_id": item["id"], "output_index": index,
                "content_index": 0, "delta": half})
        }));
    }
    let event = |kind: &str, item: &Value| json!({"type": format!("response.output_item.{kind}"), "output_index": index, "item": item});
    let mut events = vec![event("added", &started)];
    events.append(&mut deltas);
    events.push(event("done", item));
    events
}

/// An answer; a tenth of what was read came from a cache.
fn response(body: &Value, id: usize, status: &str, output: &Value) -> Value {
    json!({
        "id": format!("resp_{id:04}"), "object": "response", "status": status, "model": body["model"],
        "output": output,
        "usage": {"input_tokens": 1000, "input_tokens_details": {"cached_tokens": 100},
            "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 1007},
    })
}
