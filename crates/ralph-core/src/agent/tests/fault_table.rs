//! The errors of all four programs, as their streams tell of them, and the class of each.

use serde_json::{Value, json};

use super::{fault_of, message_of};
use crate::agent::{AgentKind, AgentReport, Ending, Exit, Fault, Setup};

/// The report of a stream with these events.
fn report(kind: AgentKind, events: &[Value], exit: Exit) -> AgentReport {
    let mut parser = kind.build(Setup::default()).parser();
    for event in events {
        parser.line(event.to_string().as_bytes(), true);
    }
    parser.finish(exit)
}

#[track_caller]
fn expect(kind: AgentKind, events: &[Value], exit: Exit, expected: Fault) {
    let found = report(kind, events, exit);
    assert_eq!(fault_of(&found), Some(expected), "{kind:?} {exit:?} {events:?}");
}

/// A field that is left out where it is empty.
fn given(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { text.into() }
}

/// What Claude Code prints in place of an answer.
fn claude_error(status: u16, cause: &str, service_type: &str, kind: &str) -> [Value; 2] {
    let status = if status == 0 { Value::Null } else { status.into() };
    [
        json!({"type": "assistant", "is_api_error_message": true, "error": given(kind), "message": {"content": []}}),
        json!({"type": "result", "subtype": "success", "is_error": true, "result": "Told", "api_error_status": status,
            "api_error": given(cause), "api_error_type": given(service_type)}),
    ]
}

#[test]
fn claude_by_status_cause_service_type_and_kind() {
    let cases = [
        (400, "", "invalid_request_error", "unknown", Fault::Crash),
        (400, "", "invalid_request_error", "billing_error", Fault::Auth),
        (400, "max_output_tokens", "", "", Fault::Crash),
        (401, "", "authentication_error", "authentication_failed", Fault::Auth),
        (402, "", "billing_error", "billing_error", Fault::Auth),
        (403, "", "permission_error", "invalid_request", Fault::Auth),
        (404, "", "not_found_error", "model_not_found", Fault::Config),
        (408, "", "", "server_error", Fault::Network),
        (413, "", "request_too_large", "invalid_request", Fault::Crash),
        (422, "", "", "", Fault::Crash),
        (429, "", "rate_limit_error", "rate_limit", Fault::RateLimit),
        (429, "", "billing_error", "billing_error", Fault::RateLimit),
        (500, "", "api_error", "server_error", Fault::Overloaded),
        (503, "", "", "", Fault::Overloaded),
        (529, "", "overloaded_error", "unknown", Fault::Overloaded),
        (0, "connection_failed", "", "server_error", Fault::Network),
        (0, "stream_idle_timeout", "", "unknown", Fault::Network),
        (0, "", "", "server_error", Fault::Network),
        (0, "", "", "authentication_failed", Fault::Auth),
        (0, "usage_limit_reached", "", "rate_limit", Fault::RateLimit),
        (0, "tls_untrusted_ca", "", "server_error", Fault::Config),
        (0, "a_cause_of_tomorrow", "", "rate_limit", Fault::RateLimit),
        (0, "", "", "unknown", Fault::Crash),
        (200, "", "", "", Fault::Crash),
        (0, "", "", "", Fault::Crash),
    ];
    for (status, cause, service_type, kind, expected) in cases {
        let events = claude_error(status, cause, service_type, kind);
        // The exit code proves nothing.
        for exit in [Exit::Code(0), Exit::Code(1)] {
            expect(AgentKind::Claude, &events, exit, expected);
        }
    }
}

#[test]
fn claude_by_the_last_retry_limit_or_own_end_where_the_answer_says_nothing() {
    let retry = |status: Value, error: &str| json!({"type": "system", "subtype": "api_retry", "error_status": status, "error": error});
    let limit = json!({"type": "rate_limit_event", "rate_limit_info": {"status": "rejected"}});
    let [error, untold] = claude_error(0, "", "", "unknown");
    let lost = retry(Value::Null, "unknown");
    let busy = retry(json!(529), "");
    let end = |events: &[&Value]| {
        let events: Vec<Value> = events.iter().copied().cloned().collect();
        fault_of(&report(AgentKind::Claude, &events, Exit::Code(1)))
    };
    assert_eq!(end(&[&lost, &error, &untold]), Some(Fault::Network));
    assert_eq!(end(&[&busy, &error, &untold]), Some(Fault::Overloaded));
    assert_eq!(end(&[&busy, &limit, &error, &untold]), Some(Fault::RateLimit));
    let [error, mut refusal] = claude_error(0, "", "", "server_error");
    refusal["stop_reason"] = json!("refusal");
    assert_eq!(end(&[&limit, &error, &refusal]), Some(Fault::Crash));
    for (subtype, expected) in [
        ("error_max_turns", Fault::Crash),
        ("error_during_execution", Fault::Crash),
        ("error_max_budget_usd", Fault::Budget),
    ] {
        refusal["subtype"] = json!(subtype);
        assert_eq!(end(&[&limit, &error, &refusal]), Some(expected), "{subtype}");
    }
}

#[test]
fn codex_by_its_sentences() {
    let cases = [
        ("unexpected status 401 Unauthorized: bad key, url: http://h/v1/responses", Fault::Auth),
        ("unexpected status 402 Payment Required: deactivated_workspace, url: u", Fault::Auth),
        ("unexpected status 403 Forbidden: no, url: u", Fault::Auth),
        (
            "Access blocked by Cloudflare. This usually happens when connecting from a restricted region (status 403 Forbidden), url: u",
            Fault::Auth,
        ),
        ("Missing environment variable: `OPENAI_KEY`.", Fault::Auth),
        (
            "Your access token could not be refreshed because your refresh token was revoked. Please log out and sign in again.",
            Fault::Auth,
        ),
        ("Quota exceeded. Check your plan and billing details.", Fault::Auth),
        ("unexpected status 404 Not Found: no such route, url: u", Fault::Config),
        ("The model `gpt-x` does not exist or you do not have access to it.", Fault::Config),
        ("The requested model 'gpt-x' does not exist.", Fault::Config),
        (
            r#"{"detail":"The 'gpt-x' model is not supported when using Codex with a ChatGPT account."}"#,
            Fault::Config,
        ),
        ("unexpected status 408 Request Timeout: x, url: u", Fault::Network),
        ("exceeded retry limit, last status: 429 Too Many Requests, request id: req_1", Fault::RateLimit),
        ("rate limit exceeded: Please try again in 1.5s.", Fault::RateLimit),
        ("You’ve hit your usage limit. Try again later.", Fault::RateLimit),
        (
            "You've hit your usage limit for gpt-6-astra. Switch to another model now, or try again later.",
            Fault::RateLimit,
        ),
        ("We’re currently experiencing high demand, which may cause temporary errors.", Fault::Overloaded),
        ("exceeded retry limit, last status: 500 Internal Server Error", Fault::Overloaded),
        ("unexpected status 502 Bad Gateway: <html>, url: u", Fault::Overloaded),
        ("unexpected status 529 <unknown status code>: Overloaded, url: u", Fault::Overloaded),
        ("Selected model is at capacity. Please try a different model.", Fault::Overloaded),
        ("stream disconnected before completion: stream closed before response.completed", Fault::Network),
        ("stream disconnected before completion: idle timeout waiting for SSE", Fault::Network),
        ("Connection failed: error sending request", Fault::Network),
        ("error sending request for url (https://auth.example/oauth/token)", Fault::Network),
        ("unexpected status 413 Payload Too Large: too large, url: u", Fault::Crash),
        (
            r#"{"error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"Too long."}}"#,
            Fault::Crash,
        ),
        ("Codex ran out of room in the model's context window. Start a new thread.", Fault::Crash),
        ("Incomplete response returned, reason: max_output_tokens", Fault::Crash),
        (
            "stream disconnected before completion: Incomplete response returned, reason: content_filter",
            Fault::Crash,
        ),
        ("Invalid prompt: flagged", Fault::Crash),
        // Words of the service inside an answer that was refused are nobody's sentences.
        (r#"{"error":{"message":"exceeded retry limit, last status: 429"}}"#, Fault::Crash),
        ("the file says: unexpected status 429", Fault::Crash),
        ("unexpected status ünf", Fault::Crash),
        ("unexpected status 99", Fault::Crash),
        ("", Fault::Crash),
    ];
    for (message, expected) in cases {
        let failed = json!({"type": "turn.failed", "error": {"message": message}});
        expect(AgentKind::Codex, &[failed], Exit::Code(1), expected);
    }
}

#[test]
fn codex_tells_people_the_text_of_an_answer() {
    for (message, told) in [
        (r#"{"error": {"message": "bad\nrequest", "type": "invalid_request_error"}}"#, "bad request"),
        (r#"{"detail":"no such model"}"#, "no such model"),
        (r#"{"else":1}"#, r#"{"else":1}"#),
        ("Quota exceeded.", "Quota exceeded."),
        ("", "codex failed without an error message"),
    ] {
        let failed = json!({"type": "turn.failed", "error": {"message": message}});
        let report = report(AgentKind::Codex, &[failed], Exit::Code(1));
        assert_eq!(message_of(&report), told);
    }
}

/// A result of Gemini CLI with an error of this type.
fn gemini_error(kind: &str, message: &str) -> Value {
    json!({"type": "result", "timestamp": "2026-01-02T03:04:05.250Z", "status": "error",
        "error": {"type": kind, "message": message}})
}

#[test]
fn gemini_by_status_reason_and_exit_code() {
    let cases = [
        (400, "", 144, Fault::Crash),
        (400, "API_KEY_INVALID", 144, Fault::Auth),
        (401, "", 145, Fault::Auth),
        (403, "", 147, Fault::Auth),
        (404, "", 148, Fault::Config),
        (408, "", 152, Fault::Network),
        (413, "", 157, Fault::Crash),
        (429, "RATE_LIMIT_EXCEEDED", 173, Fault::RateLimit),
        (500, "", 244, Fault::Overloaded),
        (529, "", 17, Fault::Overloaded),
        // The message has no status, the exit code has.
        (0, "", 173, Fault::RateLimit),
        (0, "", 247, Fault::Overloaded),
        (0, "", 17, Fault::Overloaded),
        // What the message says goes before it.
        (429, "", 1, Fault::RateLimit),
        (0, "", 1, Fault::Crash),
        (0, "", 0, Fault::Crash),
        (0, "", 53, Fault::Crash),
    ];
    for (status, reason, code, expected) in cases {
        let error = json!({"error": {"message": "told", "code": status, "details": [{"reason": reason}, 7]}});
        let message = match status {
            0 => "[API Error: told]".to_owned(),
            _ => format!("[API Error: {error}]"),
        };
        let event = gemini_error("unknown", &message);
        expect(AgentKind::Gemini, &[event], Exit::Code(code), expected);
    }
}

#[test]
fn gemini_by_type_message_and_start() {
    use Fault::{Auth, Config, Crash, Network, Permission};
    let cases = [
        ("unknown", "[API Error: terminated]", 1, Network, "terminated"),
        (
            "unknown",
            "[API Error: exception TypeError: fetch failed sending request]",
            1,
            Network,
            "exception TypeError: fetch failed sending request",
        ),
        (
            "unknown",
            "[API Error: Incomplete JSON segment at the end]",
            1,
            Network,
            "Incomplete JSON segment at the end",
        ),
        (
            "unknown",
            "[API Error: request failed, reason: getaddrinfo ENOTFOUND x]",
            1,
            Network,
            "request failed, reason: getaddrinfo ENOTFOUND x",
        ),
        ("unknown", "[API Error: x is not found]", 1, Config, "x is not found"),
        (
            "unknown",
            "[API Error: Requested entity was not found.]",
            1,
            Config,
            "Requested entity was not found.",
        ),
        ("unknown", "[API Error: Retry attempts exhausted]", 1, Crash, "Retry attempts exhausted"),
        (
            "unknown",
            "[API Error: The turn was terminated by a rule]",
            1,
            Crash,
            "The turn was terminated by a rule",
        ),
        ("unknown", "[API Error: [{\"error\":{\"code\":401,\"message\":\"no\"}}]]", 145, Auth, "no (401)"),
        (
            "unknown",
            "[API Error: got status: X. {\"error\":{\"code\":401,\"message\":\"no\"}}]",
            145,
            Auth,
            "no (401)",
        ),
        ("FatalInputError", "[API Error: a is not found]", 42, Crash, "[API Error: a is not found]"),
        ("FatalAuthenticationError", "log in", 41, Auth, "log in"),
        ("FatalTurnLimitedError", "Reached max session turns", 53, Crash, "Reached max session turns"),
        ("no_space_left", "Error executing tool", 54, Crash, "Error executing tool"),
    ];
    for (kind, message, code, expected, told) in cases {
        let report = report(AgentKind::Gemini, &[gemini_error(kind, message)], Exit::Code(code));
        assert_eq!(fault_of(&report), Some(expected), "{kind} {message}");
        assert_eq!(message_of(&report), told);
    }
    // Without an event the exit code is the program's only word; with one it proves nothing.
    let starts = [(41, Auth), (44, Config), (52, Config), (55, Permission)];
    let others = [0, 1, 42, 145, 173, 244].map(|code| (code, Crash));
    for (code, expected) in starts.into_iter().chain(others) {
        expect(AgentKind::Gemini, &[], Exit::Code(code), expected);
        expect(AgentKind::Gemini, &[json!({"type": "init"})], Exit::Code(code), Crash);
        expect(AgentKind::Gemini, &[gemini_error("Error", "x")], Exit::Code(code), Crash);
    }
    expect(AgentKind::Gemini, &[], Exit::Signal(9), Crash);
    for (message, expected) in [
        ("Model stream ended without a finish reason.", Network),
        ("The model response was blocked due to safety settings.", Crash),
    ] {
        let event = json!({"type": "error", "severity": "error", "message": message});
        expect(AgentKind::Gemini, &[event], Exit::Code(1), expected);
    }
}

#[test]
fn gemini_tells_how_long_to_wait() {
    // The error came at 2026-01-02T03:04:05.250Z; a limit is over at a whole second.
    let over = |words: &str| {
        let message = format!("[API Error: {words}]\nPlease wait and try again later. And so on");
        let events = [gemini_error("unknown", &message)];
        match report(AgentKind::Gemini, &events, Exit::Code(1)).ending {
            Ending::Completed => panic!("completed"),
            Ending::Faulted { fault, resets_at, .. } => {
                assert_eq!(fault, Fault::RateLimit);
                resets_at.map(|at| at - 1_767_323_045)
            }
        }
    };
    assert_eq!(over("Quota.\nSuggested retry after 2s."), Some(3));
    assert_eq!(over("Quota. Please retry in 2.5s."), Some(3));
    assert_eq!(over("Quota. Please retry in 250ms."), Some(1));
    assert_eq!(over("Your quota will reset after 1h2m3s."), Some(3724));
    assert_eq!(over("Your quota will reset after 1d."), Some(86_401));
    assert_eq!(over("Please retry in 3600.5s.\nSuggested retry after 3600s."), Some(3601));
    assert_eq!(over(r#"{"error":{"code":429,"details":[{"retryDelay":"7s"}]}}"#), Some(8));
    for none in ["Quota.", "retry after a while", "retry in .s", "retry in 0s", "retry in 5"] {
        assert_eq!(over(none), None, "{none}");
    }
    assert_eq!(over(&format!("retry in {}s", "9".repeat(400))), None);
    // The service's own line ends are no advice.
    let events = [gemini_error("unknown", "[API Error: [\n]\nPlease]")];
    expect(AgentKind::Gemini, &events, Exit::Code(1), Fault::Crash);
}

/// An error of OpenCode's.
fn opencode_error(name: &str, data: &Value) -> Value {
    json!({"type": "error", "timestamp": 1_794_770_179_201_i64, "error": {"name": name, "data": data}})
}

#[track_caller]
fn expect_opencode(name: &str, data: &Value, expected: Fault) {
    let begun = json!({"type": "step_start", "part": {"messageID": "m"}});
    let events = [begun, opencode_error(name, data)];
    expect(AgentKind::Opencode, &events, Exit::Code(1), expected);
}

#[test]
fn opencode_by_status_and_the_services_own_type() {
    for (status, expected) in [
        (400, Fault::Crash),
        (401, Fault::Auth),
        (402, Fault::Auth),
        (403, Fault::Auth),
        (404, Fault::Config),
        (408, Fault::Network),
        (413, Fault::Crash),
        (422, Fault::Crash),
        (429, Fault::RateLimit),
        (500, Fault::Overloaded),
        (503, Fault::Overloaded),
        (529, Fault::Overloaded),
        (200, Fault::Crash),
    ] {
        for name in ["APIError", "AnErrorOfTomorrow"] {
            let body = r#"{"error":{"message":"x","type":"some_error","code":null}}"#;
            let data = json!({"message": "x", "statusCode": status, "isRetryable": true,
                "responseBody": body, "metadata": {"url": "http://localhost/v1"}});
            expect_opencode(name, &data, expected);
        }
    }
    for (error, expected) in [
        (
            json!({"code": 400, "status": "INVALID_ARGUMENT", "details": [{"reason": "API_KEY_INVALID"}]}),
            Fault::Auth,
        ),
        (json!({"type": "invalid_request_error", "code": "model_not_found"}), Fault::Config),
        (json!({"type": "overloaded_error"}), Fault::Crash),
    ] {
        let body = json!({"error": error}).to_string();
        let data = json!({"message": "x", "statusCode": 400, "isRetryable": false, "responseBody": body});
        expect_opencode("APIError", &data, expected);
    }
    for (error, expected) in [
        (json!({"type": "overloaded_error"}), Fault::Overloaded),
        (json!({"type": "x", "code": "rate_limit_exceeded"}), Fault::RateLimit),
        (json!({"code": 502}), Fault::Overloaded),
        (json!({"code": 429, "type": "of tomorrow"}), Fault::RateLimit),
        (json!({"code": "insufficient_quota"}), Fault::Auth),
        (json!({"type": "timeout_error"}), Fault::Network),
        (json!({"code": "context_length_exceeded"}), Fault::Crash),
        (json!({"status": "UNAVAILABLE"}), Fault::Overloaded),
    ] {
        // As the message of an error that the program has no name for, alone or in an envelope.
        let whole = json!({"type": "error", "error": error});
        for told in [error.to_string(), whole.to_string()] {
            expect_opencode("UnknownError", &json!({"message": told}), expected);
        }
        let data = json!({"message": "x", "isRetryable": true, "responseBody": whole.to_string()});
        expect_opencode("APIError", &data, expected);
    }
}

#[test]
fn opencode_without_an_answer_and_by_its_own_names() {
    for metadata in [
        json!({"url": "http://localhost/v1"}),
        json!({"code": "ECONNRESET"}),
        json!({"code": "ProviderHeaderTimeoutError"}),
    ] {
        let data = json!({"message": "cut", "isRetryable": true, "metadata": metadata});
        expect_opencode("APIError", &data, Fault::Network);
    }
    let untyped = |retryable: bool| json!({"message": "x", "isRetryable": retryable, "responseBody": "{}"});
    expect_opencode("APIError", &untyped(true), Fault::Overloaded);
    expect_opencode("APIError", &untyped(false), Fault::Crash);
    let no_key = json!({"providerID": "openai", "message": "no key"});
    expect_opencode("ProviderAuthError", &no_key, Fault::Auth);
    for name in [
        "MessageOutputLengthError",
        "ContextOverflowError",
        "ContentFilterError",
        "StructuredOutputError",
        "MessageAbortedError",
    ] {
        // Whatever they say.
        expect_opencode(name, &json!({"message": r#"{"type":"overloaded_error"}"#}), Fault::Crash);
    }
    expect_opencode("UnknownError", &json!({"message": "429 rate limit"}), Fault::Crash);
    expect_opencode("UnknownError", &json!(7), Fault::Crash);
}

#[test]
fn opencode_tells_people_one_short_clean_line() {
    let told = |name: &str, data: Value| {
        let report = report(AgentKind::Opencode, &[opencode_error(name, &data)], Exit::Code(1));
        message_of(&report).to_owned()
    };
    let inside = json!({"message": r#"{"type":"overloaded_error","message":"busy"}"#});
    assert_eq!(told("UnknownError", inside), "busy");
    assert_eq!(told("MessageOutputLengthError", json!({})), "opencode reported MessageOutputLengthError");
    let long = told("APIError", json!({"message": format!("\u{1b}[31m{}", "x".repeat(10_000))}));
    assert!(long.chars().count() <= 500 && !long.contains(char::is_control));
    let refused = told("UnknownError", json!({"message": "Unexpected", "ref": "err_1"}));
    assert!(refused.contains("cannot start") && refused.contains("(Unexpected)"));
}

#[test]
fn opencode_tells_when_a_limit_is_over_by_headers() {
    let over = |after: &str, after_ms: &str, unified: &str| {
        let data = json!({"message": "slow", "statusCode": 429, "responseHeaders": {"retry-after": given(after),
            "retry-after-ms": given(after_ms), "anthropic-ratelimit-unified-reset": given(unified)}});
        match report(AgentKind::Opencode, &[opencode_error("APIError", &data)], Exit::Code(1)).ending {
            Ending::Completed => panic!("completed"),
            Ending::Faulted { resets_at, .. } => resets_at,
        }
    };
    for (after, after_ms, unified, expected) in [
        ("1", "", "", Some(1_794_770_181)),
        ("3600", "", "", Some(1_794_773_780)),
        ("0.5", "", "", Some(1_794_770_180)),
        ("60", "799", "", Some(1_794_770_180)),
        ("Sun, 15 Nov 2026 19:26:19 GMT", "", "", Some(1_794_770_779)),
        ("", "", "1794772643", Some(1_794_772_643)),
        ("soon", "", "1794772643", Some(1_794_772_643)),
        ("0", "", "", None),
        ("", "0", "", None),
        ("-1", "", "", None),
        ("NaN", "", "", None),
        ("inf", "", "", None),
        ("1e300", "", "", None),
        ("", "", "later", None),
        ("", "", "", None),
    ] {
        let case = format!("{after} {after_ms} {unified}");
        assert_eq!(over(after, after_ms, unified), expected, "{case}");
    }
}
