//! The scripted model itself, asked over a plain socket.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{ModelServer, Reply};
use crate::support::PATIENCE;

const MESSAGES: &str = "/v1/messages?beta=true";

/// Sends one request and reads until the server closes the connection or says nothing for a while.
fn ask(server: &ModelServer, head: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    write!(stream, "{head}\r\nhost: test\r\n\r\n{body}").unwrap();
    let mut answer = Vec::new();
    // The time-out is an error to `read_to_end`; what came before it is kept.
    let _silence = stream.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

fn post(server: &ModelServer, session: &str, body: &Value) -> String {
    let body = body.to_string();
    let length = body.len();
    let head = format!(
        "POST {MESSAGES} HTTP/1.1\r\nX-Claude-Code-Session-Id: {session}\r\ncontent-length: {length}"
    );
    ask(server, &head, &body)
}

fn main_request(stream: bool) -> Value {
    json!({"model": "m", "stream": stream, "tools": [{"name": "Bash"}], "system": "Rules",
        "messages": [{"role": "user", "content": "Task 1.3"}]})
}

#[test]
fn a_session_with_a_tool() {
    let server = ModelServer::start(|request| {
        assert!(request.mentions("Task 1.3") && request.mentions("Rules"));
        assert!(!request.mentions("Bash"), "tools are not what the model reads");
        assert_eq!(request.body["model"], "m");
        if request.after_tool {
            Reply::text(format!("request {}, session {}", request.ordinal, request.session))
        } else {
            Reply::tool("Bash", json!({"command": "ls"}))
        }
    });
    let first = post(&server, "a", &main_request(true));
    assert!(first.contains("event: message_start\ndata: {"), "{first}");
    assert!(first.contains(r#""partial_json":"{\"command\":\"ls\"}""#), "{first}");
    assert!(first.contains(r#""stop_reason":"tool_use""#), "{first}");
    assert!(first.ends_with("\n\n"), "{first}");

    let mut second = main_request(false);
    let result = json!({"role": "user", "content": [{"type": "tool_result"}]});
    let note = json!({"role": "system", "content": "note"});
    second["messages"].as_array_mut().unwrap().extend([result, note]);
    let answer = post(&server, "b", &second);
    assert!(answer.contains(r#""text":"request 2, session 2""#), "{answer}");
    assert!(answer.contains(r#""input_tokens":1000"#) && answer.contains(r#""output_tokens":7"#));
    assert_eq!(server.requests(), [main_request(true), second]);
}

#[test]
fn errors_and_broken_streams() {
    let server = ModelServer::start(|request| match request.ordinal {
        1 => Reply::error(401),
        2 => Reply::Error { status: 429, headers: vec![("retry-after".into(), "1".into())] },
        3 => Reply::Overload,
        4 => Reply::CutMidStream,
        5 => Reply::HangMidStream,
        6 => Reply::CutMidStream,
        _ => Reply::Hang,
    });
    let next = || post(&server, "a", &main_request(true));
    let refused = next();
    assert!(refused.starts_with("HTTP/1.1 401 "), "{refused}");
    assert!(refused.contains("authentication_error"), "{refused}");
    assert!(next().contains("\r\nretry-after: 1\r\n"));
    let overloaded = next();
    assert!(overloaded.contains("event: error\ndata: {"), "{overloaded}");
    assert!(overloaded.contains("overloaded_error"), "{overloaded}");
    let (cut, hung) = (next(), next());
    for half in [&cut, &hung] {
        assert!(half.contains("Half an") && !half.contains("content_block_stop"), "{half}");
    }
    let document = post(&server, "a", &main_request(false));
    assert!(document.contains("application/json") && !document.contains("usage"), "{document}");
    assert_eq!(next(), "");
    assert_eq!(server.requests().len(), 7);
}

#[test]
fn what_is_not_the_main_loop() {
    let server = ModelServer::start(|_| Reply::text("never asked"));
    let side = post(&server, "a", &json!({"model": "m", "messages": []}));
    assert!(side.contains("Side request"), "{side}");
    let count = "POST /v1/messages/count_tokens HTTP/1.1\r\ntransfer-encoding: chunked";
    let counted = ask(&server, count, "2\r\n{}\r\n0\r\n\r\nGET /next HTTP/1.1\r\n\r\n");
    assert!(counted.contains(r#"{"input_tokens":42}HTTP/1.1 404 "#), "{counted}");
    assert!(ask(&server, "HEAD / HTTP/1.1", "").starts_with("HTTP/1.1 404 "));
    assert!(ask(&server, "GET /v1/models HTTP/1.1", "").contains("not_found_error"));
    assert!(server.requests().is_empty());
}

/// The API of Codex, where newer models find their tools in the input.
#[test]
fn a_session_of_responses() {
    let server = ModelServer::start(|request| match request.ordinal {
        1 => Reply::tool("exec", json!("text(1);")),
        2 if request.after_tool => Reply::tool("wait", json!({"seconds": 1})),
        3 => Reply::Overload,
        4 => Reply::CutMidStream,
        5 => Reply::Refusal { status: 429, body: json!({"error": {"type": "usage_limit_reached"}}) },
        _ => Reply::text("Done."),
    });
    let tools = json!({"type": "additional_tools", "tools": [{"name": "exec"}]});
    let ask = |items: &[Value]| {
        let items = [std::slice::from_ref(&tools), items].concat();
        let body = json!({"model": "m", "stream": true, "input": items});
        let body = body.to_string();
        let length = body.len();
        let head = format!("POST /v1/responses HTTP/1.1\r\nsession-id: a\r\ncontent-length: {length}");
        self::ask(&server, &head, &body)
    };
    let user = json!({"type": "message", "role": "user", "content": []});
    let first = ask(std::slice::from_ref(&user));
    assert!(first.contains("event: response.created\ndata: {"), "{first}");
    assert!(first.contains(r#""input":"text(1);""#), "{first}");
    assert!(first.contains("custom_tool_call"), "{first}");
    let call = json!({"type": "custom_tool_call"});
    let result = json!({"type": "custom_tool_call_output"});
    let second = ask(&[user, call, result]);
    assert!(second.contains(r#""arguments":"{\"seconds\":1}""#), "{second}");
    let overloaded = ask(&[]);
    assert!(overloaded.contains("event: response.failed\n"), "{overloaded}");
    let cut = ask(&[]);
    assert!(cut.contains("Half an") && !cut.contains("item.done"), "{cut}");
    let refused = ask(&[]);
    assert!(refused.starts_with("HTTP/1.1 429 ") && refused.contains("usage_limit_reached"));
    let whole = ask(&[]);
    assert!(whole.contains("event: response.completed\n") && whole.contains("Done."), "{whole}");
    assert_eq!(server.requests().len(), 6);
}

#[test]
fn it_ends_though_clients_hang() {
    let server = ModelServer::start(|_| Reply::Hang);
    let mut stream = TcpStream::connect(server.address).unwrap();
    let body = main_request(true).to_string();
    write!(stream, "POST {MESSAGES} HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
    let url = server.url();
    assert_eq!(url, format!("http://{}", server.address));
    let began = Instant::now();
    drop(server);
    assert!(began.elapsed() < PATIENCE);
    assert!(TcpStream::connect(url.trim_start_matches("http://")).is_err());
}

fn chat(server: &ModelServer, session: &str, body: &Value) -> String {
    let body = body.to_string();
    let length = body.len();
    let head =
        format!("POST /v1/chat/completions HTTP/1.1\r\nX-Session-Id: {session}\r\ncontent-length: {length}");
    ask(server, &head, &body)
}

#[test]
fn a_chat_with_a_tool() {
    let server = ModelServer::start(|request| match (request.ordinal, request.after_tool) {
        (3, _) => Reply::CutMidStream,
        (4, _) => Reply::error(429),
        (_, false) => Reply::tool("bash", json!({"command": "ls"})),
        (_, true) => Reply::text(format!("session {}", request.session)),
    });
    let first = chat(&server, "a", &main_request(true));
    assert!(first.contains("\r\n\r\ndata: {"), "{first}");
    assert!(first.contains(r#""arguments":"{\"command\":\"ls\"}""#), "{first}");
    assert!(first.contains(r#""finish_reason":"tool_calls""#), "{first}");
    assert!(first.ends_with("data: [DONE]\n\n"), "{first}");

    let mut second = main_request(false);
    let result = json!({"role": "tool", "tool_call_id": "call_0000", "content": "src"});
    second["messages"].as_array_mut().unwrap().push(result);
    let answer = chat(&server, "b", &second);
    assert!(answer.contains(r#""content":"session 2""#), "{answer}");
    assert!(answer.contains(r#""completion_tokens":7"#), "{answer}");

    let cut = chat(&server, "b", &main_request(true));
    assert!(cut.contains("Half an") && !cut.contains("[DONE]"), "{cut}");
    let limited = chat(&server, "b", &main_request(true));
    assert!(limited.contains("rate_limit_exceeded"), "{limited}");
    let side = chat(&server, "b", &json!({"model": "m", "messages": []}));
    assert!(side.contains("Side request"), "{side}");
    assert_eq!(server.requests().len(), 4);
}
