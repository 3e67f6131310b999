//! Google's Gemini API: whole answers, their pieces in a stream, errors with the details that the service adds.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use super::dialect::{Content, Dialect, Event};
use super::http::Call;

/// The API that Gemini CLI speaks.
pub struct Gemini;

const STREAMED: &str = ":streamGenerateContent";
const WHOLE: &str = ":generateContent";
const COUNT: &str = ":countTokens";

/// Sessions so far, by the server's address.
static SESSIONS: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());

impl Dialect for Gemini {
    fn takes(&self, call: &Call) -> bool {
        let asks = [STREAMED, WHOLE, COUNT].iter().any(|verb| call.path.ends_with(verb));
        call.method == "POST" && call.path.contains("/models/") && asks
    }

    fn small_talk(&self, call: &Call) -> Option<Value> {
        let counts = call.path.ends_with(COUNT);
        counts.then(|| json!({"totalTokens": 42}))
    }

    fn is_side(&self, body: &Value) -> bool {
        let tools = body["tools"].as_array().into_iter().flatten();
        !tools.into_iter().any(|tool| tool["functionDeclarations"].is_array())
    }

    /// Nothing in a request names its session: one begins with every request before the model's first turn. The program
    /// must therefore not try again by itself.
    fn session(&self, call: &Call, body: &Value) -> String {
        let server = call.header("host").unwrap_or_default().to_owned();
        let mut sessions = SESSIONS.lock().unwrap_or_else(PoisonError::into_inner);
        let number = sessions.entry(server).or_default();
        if !contents(body).iter().any(|turn| turn["role"] == "model") {
            *number += 1;
        }
        number.to_string()
    }

    fn brings_tool_result(&self, body: &Value) -> bool {
        let turns = contents(body).iter().rev();
        turns
            .take_while(|turn| turn["role"] != "model")
            .flat_map(|turn| turn["parts"].as_array().into_iter().flatten())
            .any(|part| part["functionResponse"].is_object())
    }

    fn streams(&self, call: &Call, _body: &Value) -> bool {
        call.path.ends_with(STREAMED)
    }

    fn events(&self, _body: &Value, id: usize, content: Content<'_>) -> Vec<Event> {
        let pieces = match content {
            Content::Text(text) => {
                let (first, second) = text.split_at(text.floor_char_boundary(text.len() / 2));
                vec![
                    answer(id, json!([{"text": first}]), None),
                    answer(id, json!([{"text": second}]), Some("STOP")),
                ]
            }
            Content::Tool { .. } => vec![answer(id, parts(content), Some("STOP"))],
        };
        pieces.into_iter().map(|data| Event { name: None, data }).collect()
    }

    /// The first half of the text.
    fn half(&self) -> usize {
        1
    }

    fn whole(&self, _body: &Value, id: usize, content: Content<'_>) -> Value {
        answer(id, parts(content), Some("STOP"))
    }

    fn error(&self, status: u16) -> Value {
        let (kind, message) = match status {
            400 => ("INVALID_ARGUMENT", "Request contains an invalid argument."),
            401 => ("UNAUTHENTICATED", "The request has invalid credentials."),
            403 => ("PERMISSION_DENIED", "The caller has no permission."),
            404 => ("NOT_FOUND", "models/scripted is not found for API version v1beta."),
            429 => ("RESOURCE_EXHAUSTED", "You exceeded your current quota."),
            503 => ("UNAVAILABLE", "The model is overloaded."),
            _ => ("INTERNAL", "An internal error has occurred."),
        };
        json!({"error": {"code": status, "message": message, "status": kind}})
    }

    /// This service tells in the body how long to wait, and of which quota.
    fn refusal(&self, status: u16, headers: &[(String, String)]) -> Value {
        let mut body = self.error(status);
        let wait = headers.iter().find(|(name, _)| name == "retry-after");
        if let Some((_, seconds)) = wait {
            let of = "type.googleapis.com/google.rpc";
            let quota = json!({"quotaId": "GenerateRequestsPerMinutePerProjectPerModel"});
            body["error"]["details"] = json!([
                {"@type": format!("{of}.QuotaFailure"), "violations": [quota]},
                {"@type": format!("{of}.RetryInfo"), "retryDelay": format!("{seconds}s")},
            ]);
        }
        body
    }
}

fn contents(body: &Value) -> &[Value] {
    body["contents"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn parts(content: Content<'_>) -> Value {
    match content {
        Content::Text(text) => json!([{"text": text}]),
        Content::Tool { name, input } => json!([
            {"text": "Using a tool."},
            {"functionCall": {"name": name, "args": input}},
        ]),
    }
}

/// An answer, or a piece of one: only the last says why it ends.
fn answer(id: usize, parts: Value, finish: Option<&str>) -> Value {
    let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": parts}});
    if let Some(finish) = finish {
        candidate["finishReason"] = json!(finish);
    }
    json!({
        "candidates": [candidate],
        "usageMetadata": {"promptTokenCount": 1000, "cachedContentTokenCount": 100,
            "candidatesTokenCount": 7, "thoughtsTokenCount": 3, "totalTokenCount": 1010},
        "modelVersion": "gemini-scripted",
        "responseId": format!("response-{id:04}"),
    })
}
