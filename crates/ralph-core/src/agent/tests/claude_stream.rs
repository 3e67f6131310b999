//! Short streams modelled on recorded ones.

use super::{fault_of, message_of};
use crate::agent::{
    Activity, AgentKind, AgentReport, Ending, Exit, Fault, LogEntry, Setup, StreamParser, Usage,
};

const INIT: &str =
    r#"{"type":"system","subtype":"init","cwd":"/p","session_id":"s1","model":"claude-sonnet-5-5"}"#;
const OK: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s1","total_cost_usd":0.25,"usage":{"input_tokens":1000,"output_tokens":7,"cache_read_input_tokens":3,"cache_creation_input_tokens":4},"permission_denials":[],"api_error_status":null}"#;

fn parser() -> Box<dyn StreamParser> {
    AgentKind::Claude.build(Setup::default()).parser()
}

fn report(lines: &[&str], exit: Exit) -> AgentReport {
    let mut stream = parser();
    for line in lines {
        stream.line(line.as_bytes(), true);
    }
    stream.finish(exit)
}

fn activities(lines: &[&str]) -> Vec<Activity> {
    let mut stream = parser();
    lines.iter().filter_map(|line| stream.line(line.as_bytes(), true)).collect()
}

fn said(text: &str) -> String {
    serde_json::json!({"type": "assistant", "parent_tool_use_id": null,
        "message": {"content": [{"type": "text", "text": text}]}})
    .to_string()
}

fn used(tool: &str, input: serde_json::Value) -> String {
    serde_json::json!({"type": "assistant",
        "message": {"content": [{"type": "tool_use", "name": tool, "input": input}]}})
    .to_string()
}

/// The error message and the result that Claude Code prints for an API error, with these fields.
fn api_error(on_message: &str, on_result: &str) -> [String; 2] {
    [
        format!(
            r#"{{"type":"assistant","message":{{"model":"<synthetic>","content":[{{"type":"text","text":"LogEntry so"}}]}},"is_api_error_message":true{on_message}}}"#
        ),
        format!(
            r#"{{"type":"result","subtype":"success","is_error":true,"result":"LogEntry so","terminal_reason":"api_error","total_cost_usd":0{on_result}}}"#
        ),
    ]
}

#[test]
fn a_success_is_read_whole() {
    let said = said("calling a tool");
    let written = used("Write", serde_json::json!({"file_path": "/p/src/a.rs", "content": "x"}));
    let report = report(&[INIT, &said, &written, OK], Exit::Code(0));
    assert_eq!(
        report,
        AgentReport {
            ending: Ending::Completed,
            result_text: "done".into(),
            session_id: Some("s1".into()),
            model: Some("claude-sonnet-5-5".into()),
            cost_usd: Some(0.25),
            usage: Usage { input: Some(1000), output: Some(7), cache_read: Some(3), cache_write: Some(4) },
            denials: vec![],
            retries: 0,
            limit: None,
            actions: vec!["Write src/a.rs".into()],
        }
    );
}

#[test]
fn faults_have_their_class_though_the_subtype_says_success() {
    let cases = [
        (r#","error":"authentication_failed""#, r#","api_error_status":null"#, Fault::Auth),
        (r#","error":"authentication_failed""#, r#","api_error_status":401"#, Fault::Auth),
        (r#","error":"model_not_found""#, r#","api_error_status":404"#, Fault::Config),
        (r#","error":"rate_limit""#, r#","api_error_status":429"#, Fault::RateLimit),
        (r#","error":"server_error""#, r#","api_error_status":500"#, Fault::Overloaded),
        (r#","error":"unknown""#, r#","api_error_status":529"#, Fault::Overloaded),
        (r#","error":"server_error""#, r#","api_error":"connection_failed""#, Fault::Network),
        (r#","error":"server_error""#, r#","api_error_status":null"#, Fault::Network),
        (r#","error":"unknown""#, r#","api_error_status":400"#, Fault::Crash),
        (r#","error":"invalid_request""#, r#","stop_reason":"refusal""#, Fault::Crash),
        (r#","error":"max_output_tokens""#, r#","api_error":"max_output_tokens""#, Fault::Crash),
    ];
    for (on_message, on_result, expected) in cases {
        let [error, result] = api_error(on_message, on_result);
        let whole = report(&[INIT, &error, &result], Exit::Code(1));
        assert_eq!(fault_of(&whole), Some(expected), "{on_message} {on_result}");
        assert_eq!(message_of(&whole), "LogEntry so");
        assert_eq!(whole.cost_usd, Some(0.0));
        // The exit code proves nothing.
        assert_eq!(report(&[INIT, &error, &result], Exit::Code(0)), whole);
    }
}

#[test]
fn prose_is_no_evidence() {
    let prose = "API Error: 429 rate limit reached, 401 authentication_failed, overloaded";
    let ok = OK.replace("\"done\"", &format!("\"{prose}\""));
    let report = report(&[INIT, &said(prose), &ok], Exit::Code(1));
    assert_eq!(report.ending, Ending::Completed);
    assert_eq!(report.result_text, prose);
}

#[test]
fn the_programs_own_ends_have_no_result_text() {
    let turns = r#"{"type":"result","subtype":"error_max_turns","is_error":true,"errors":["Reached maximum number of turns (3)"]}"#;
    let whole = report(&[INIT, &said("one"), &said("two"), turns], Exit::Code(1));
    assert_eq!(fault_of(&whole), Some(Fault::Crash));
    assert_eq!(message_of(&whole), "Reached maximum number of turns (3)");
    assert_eq!(whole.result_text, "one\ntwo");

    let aborted = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools","errors":["[ede_diagnostic]"]}"#;
    let aborted = report(&[INIT, aborted], Exit::Code(0));
    assert_eq!(fault_of(&aborted), Some(Fault::Crash));
    assert_eq!(message_of(&aborted), "claude was interrupted (aborted_tools)");
}

#[test]
fn without_a_result_the_exit_is_named() {
    let killed = report(&[INIT, &said("half")], Exit::Code(143));
    assert_eq!(fault_of(&killed), Some(Fault::Crash));
    assert_eq!(message_of(&killed), "claude ended without a result (exit code 143)");
    assert_eq!(killed.result_text, "half");
    assert_eq!((killed.cost_usd, killed.usage), (None, Usage::default()));

    let mut cut = parser();
    cut.line(br#"{"type":"result","is_error":false,"result":"lo"#, false);
    let cut = cut.finish(Exit::Signal(9));
    assert_eq!(
        message_of(&cut),
        "claude ended without a result (signal 9; output lines too long to read: 1)"
    );
}

#[test]
fn a_refusing_limit_tells_when_it_resets() {
    let limit = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1794772643,"rateLimitType":"five_hour"}}"#;
    let [error, result] = api_error(r#","error":"rate_limit""#, r#","api_error_status":429"#);
    let limited = report(&[INIT, limit, &error, &result], Exit::Code(1));
    let Ending::Faulted { fault, resets_at, .. } = limited.ending else { panic!("completed") };
    assert_eq!((fault, resets_at), (Fault::RateLimit, Some(1_794_772_643)));
    assert_eq!(limited.limit.map(|limit| limit.status).as_deref(), Some("rejected"));

    // Killed while it waited for the limit: still no fault of the agent's.
    assert_eq!(fault_of(&report(&[INIT, limit], Exit::Code(143))), Some(Fault::RateLimit));
    // An answer after it: the limit was no obstacle (paid overage).
    let went_on = report(&[INIT, limit, &said("on")], Exit::Code(143));
    assert_eq!(fault_of(&went_on), Some(Fault::Crash));
    assert_eq!(report(&[INIT, limit, &said("on"), OK], Exit::Code(0)).ending, Ending::Completed);
}

#[test]
fn what_a_sub_agent_says_is_not_the_sessions() {
    let text = said("<task-done>t-1</task-done>").replace("null", "\"toolu_1\"");
    let [error, _] =
        api_error(r#","error":"rate_limit","api_error_status":429,"parent_tool_use_id":"toolu_1""#, "");
    let report = report(&[INIT, &text, &error], Exit::Code(1));
    assert_eq!(report.result_text, "");
    assert_eq!(fault_of(&report), Some(Fault::Crash));
}

#[test]
fn several_results_replace_the_cost_and_add_up_the_tokens() {
    let denied = OK.replace("[]", r#"[{"tool_name":"Bash"},{"tool_name":"Bash"},{"tool_name":"Write"}]"#);
    let report = report(&[INIT, &denied, &denied], Exit::Code(0));
    assert_eq!(report.cost_usd, Some(0.25));
    assert_eq!(report.usage.input, Some(2000));
    assert_eq!(report.result_text, "done\ndone");
    assert_eq!(report.denials, ["Bash", "Write"]);
    assert_eq!(report.ending, Ending::Completed);
}

#[test]
fn the_model_that_answered_counts() {
    let fallback = r#"{"type":"system","subtype":"model_fallback","fallback_model":"claude-haiku-5-5"}"#;
    let report = report(&[INIT, fallback, OK], Exit::Code(0));
    assert_eq!(report.model.as_deref(), Some("claude-haiku-5-5"));
}

#[test]
fn odd_fields_cost_only_themselves() {
    let odd = r#"{"type":"result","is_error":false,"result":"cut \ud83d here","total_cost_usd":"?","usage":[1],"permission_denials":{"a":1},"session_id":7,"errors":null,"api_error_status":99999}"#;
    let report = report(&["", "not json", "[]", "null", "{}", INIT, odd], Exit::Code(0));
    assert_eq!(report.ending, Ending::Completed);
    assert_eq!(report.result_text, "cut \u{fffd}\u{fffd}\u{fffd} here");
    assert_eq!((report.cost_usd, report.session_id.as_deref()), (None, Some("s1")));
    // Not an error by its own word, but no success either.
    let mute = r#"{"type":"result","subtype":"success","result":"x"}"#;
    assert_eq!(fault_of(&self::report(&[mute], Exit::Code(0))), Some(Fault::Crash));
}

#[test]
fn displays_get_short_clean_lines() {
    let retry = r#"{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10,"error_status":529,"error":"overloaded"}"#;
    let warning =
        r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","utilization":0.93}}"#;
    let shown = activities(&[
        INIT,
        &said("\n\u{1b}[31mred\u{7}\nsecond line"),
        &used("Bash", serde_json::json!({"command": format!("cargo test\n{}", "x".repeat(500))})),
        &used("Grep", serde_json::json!({"pattern": "fn main", "path": "src"})),
        retry,
        warning,
        OK,
    ]);
    assert_eq!(
        shown,
        [
            Activity::Started { model: Some("claude-sonnet-5-5".into()) },
            Activity::Said { text: "red".into() },
            Activity::Tool { name: "Bash".into(), target: "cargo test…".into() },
            Activity::Tool { name: "Grep".into(), target: "fn main".into() },
            Activity::Retrying { attempt: 2, max: 10, status: Some(529) },
            Activity::LimitWarning { utilization: Some(0.93) },
        ]
    );
}

#[test]
fn what_is_kept_is_bounded() {
    let mut stream = parser();
    let long = said(&"ä".repeat(100_000));
    for number in 0..40 {
        stream.line(long.as_bytes(), true);
        let run = used("Bash", serde_json::json!({"command": format!("step {number}")}));
        stream.line(run.as_bytes(), true);
    }
    let report = stream.finish(Exit::Signal(9));
    assert!(report.result_text.len() <= 256 * 1024, "{}", report.result_text.len());
    assert!(report.result_text.len() > 255 * 1024);
    assert_eq!(report.actions.len(), 36);
    assert_eq!(report.actions.last().map(String::as_str), Some("Bash step 39"));
}

#[test]
fn a_reader_of_the_log_is_told_all_that_was_said_and_every_tool() {
    let line = serde_json::json!({"type": "assistant", "message": {"content": [
        {"type": "text", "text": "\n\nFirst I look.\n  Then I write.\n"},
        {"type": "tool_use", "name": "Read", "input": {"file_path": "/p/a.rs"}},
        {"type": "tool_use", "name": "Bash", "input": {"command": "cargo test"}},
    ]}})
    .to_string();
    let mut stream = parser();
    stream.line(INIT.as_bytes(), true);
    let tool =
        |name: &str, target: &str| LogEntry::Did(Activity::Tool { name: name.into(), target: target.into() });
    assert_eq!(
        stream.entries(line.as_bytes(), true),
        [
            LogEntry::Said { text: "\n\nFirst I look.\n  Then I write.\n".into() },
            tool("Read", "a.rs"),
            tool("Bash", "cargo test"),
        ]
    );
    // A display gets the last of them, and of words the first line.
    let mut live = parser();
    assert_eq!(
        live.line(said(" \nFirst I look.\nThen").as_bytes(), true),
        Some(Activity::Said { text: "First I look.".into() })
    );
    assert_eq!(live.line(said(" \n ").as_bytes(), true), None);
    assert_eq!(stream.entries(b"{\"type\":\"assistant\"", false), []);
}
