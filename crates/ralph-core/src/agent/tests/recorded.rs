//! The recorded streams of the real programs, where they are at hand, and arbitrary input to every reader.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{fault_of, message_of};
use crate::agent::{Activity, AgentKind, AgentReport, Exit, Fault, Setup, StreamParser};

const KINDS: [AgentKind; 4] = [AgentKind::Claude, AgentKind::Codex, AgentKind::Gemini, AgentKind::Opencode];

/// Exit and class of recorded streams, by name; those not named here completed.
const RECORDED: &[(&str, Exit, Fault)] = &[
    ("claude-api-timeout", Exit::Code(1), Fault::Network),
    ("claude-econnrefused", Exit::Code(1), Fault::Network),
    ("claude-err400", Exit::Code(1), Fault::Crash),
    ("claude-err401-retries1", Exit::Code(1), Fault::Auth),
    ("claude-err404-model", Exit::Code(1), Fault::Config),
    ("claude-err429-default-10-retries", Exit::Code(1), Fault::RateLimit),
    ("claude-err429-retries2", Exit::Code(1), Fault::RateLimit),
    ("claude-err500-retries2", Exit::Code(1), Fault::Overloaded),
    ("claude-err529-default-10-retries", Exit::Code(1), Fault::Overloaded),
    ("claude-err529-retries2", Exit::Code(1), Fault::Overloaded),
    ("claude-max-budget", Exit::Code(1), Fault::Budget),
    ("claude-max-tokens", Exit::Code(1), Fault::Crash),
    ("claude-max-turns", Exit::Code(1), Fault::Crash),
    ("claude-no-key", Exit::Code(1), Fault::Auth),
    ("claude-ratelimit-rejected-apikey", Exit::Code(1), Fault::RateLimit),
    ("claude-ratelimit-rejected-oauth", Exit::Code(1), Fault::RateLimit),
    ("claude-refusal", Exit::Code(1), Fault::Crash),
    ("claude-resume-unknown", Exit::Code(1), Fault::Crash),
    ("claude-sigint-during-request", Exit::Code(0), Fault::Crash),
    ("claude-sigint-during-tool", Exit::Code(0), Fault::Crash),
    ("claude-sigkill-during-tool", Exit::Signal(9), Fault::Crash),
    ("claude-sigterm-during-request", Exit::Code(143), Fault::Crash),
    ("claude-sigterm-during-tool", Exit::Code(143), Fault::Crash),
    ("claude-sse-error-no-fallback", Exit::Code(1), Fault::Overloaded),
    ("claude-stream-cut", Exit::Code(1), Fault::Network),
    ("codex-err400", Exit::Code(1), Fault::Crash),
    ("codex-err401-retries1", Exit::Code(1), Fault::Auth),
    ("codex-err429-retries1", Exit::Code(1), Fault::RateLimit),
    ("codex-err500-default", Exit::Code(1), Fault::Overloaded),
    ("codex-err500-retries1", Exit::Code(1), Fault::Overloaded),
    ("codex-response-failed", Exit::Code(1), Fault::Overloaded),
    ("codex-sigint-during-tool", Exit::Code(1), Fault::Crash),
    ("codex-sigterm-during-tool", Exit::Signal(15), Fault::Crash),
    ("codex-stream-cut", Exit::Code(1), Fault::Network),
    ("gemini-err400", Exit::Code(144), Fault::Crash),
    ("gemini-err401", Exit::Code(145), Fault::Auth),
    ("gemini-loop-detected", Exit::Code(0), Fault::Crash),
    ("opencode-err400", Exit::Code(1), Fault::Crash),
    ("opencode-err401", Exit::Code(1), Fault::Auth),
    ("opencode-err429", Exit::Code(1), Fault::RateLimit),
];

fn parser(kind: AgentKind) -> Box<dyn StreamParser> {
    kind.build(Setup::default()).parser()
}

#[test]
fn recorded_streams() {
    for kind in KINDS {
        for (case, stream) in super::recorded(kind.as_str()) {
            let case = format!("{}-{case}", kind.as_str());
            let known = RECORDED.iter().find(|(name, ..)| *name == case);
            let exit = known.map_or(Exit::Code(0), |(_, exit, _)| *exit);
            let mut parser = parser(kind);
            for line in stream.lines() {
                parser.line(line.as_bytes(), true);
            }
            let report = parser.finish(exit);
            assert_eq!(fault_of(&report), known.map(|(.., fault)| *fault), "{case}");
            assert!(report.session_id.is_some(), "{case}");
            check(kind, &case, &stream, &report);
        }
    }
}

/// What a stream says of cost, tokens, tools and retries.
fn check(kind: AgentKind, case: &str, stream: &str, report: &AgentReport) {
    let count = |text: &str| stream.matches(text).count();
    let completed = fault_of(report).is_none();
    match kind {
        AgentKind::Claude => {
            // What was interrupted in its first answer says 0, and means that nothing was counted.
            let told = count(r#""type":"result""#) > 0 && case != "claude-sigint-during-request";
            assert_eq!(report.cost_usd.is_some(), told, "{case}");
            assert_eq!(report.usage.input.is_some(), told, "{case}");
            let denied = case == "claude-permission-denied";
            assert_eq!(!report.denials.is_empty(), denied, "{case}");
            assert_eq!(report.actions.is_empty(), count("tool_use\",\"id") == 0, "{case}");
            assert_eq!(report.retries, count("\"api_retry\"") as u64, "{case}");
        }
        AgentKind::Codex => {
            assert_eq!(report.cost_usd, None, "{case}");
            assert_eq!(report.usage.input.is_some(), completed, "{case}");
            assert_eq!(report.result_text.contains("STANDIN-FINAL"), completed, "{case}");
            let has_tool = count("command_execution") > 0;
            assert_eq!(report.actions.len(), usize::from(has_tool), "{case}");
            assert_eq!(report.retries, count("Reconnecting... ") as u64, "{case}");
        }
        AgentKind::Gemini => {
            assert!(report.model.is_some() && report.denials.is_empty(), "{case}");
            assert_eq!(report.actions.len(), count(r#""tool_use""#), "{case}");
            let said = count(r#""role":"assistant""#) > 0;
            assert_eq!(!report.result_text.is_empty(), said, "{case}");
            let counted = count(r#""input_tokens":0"#) == 0;
            assert_eq!(report.usage.input.is_some(), counted, "{case}");
            let cached = report.usage.cache_read.unwrap_or(0);
            assert_eq!(report.usage.input.unwrap_or(0), 9 * cached, "{case}");
        }
        AgentKind::Opencode | AgentKind::Command => {
            let steps = count(r#""type":"step_finish""#);
            let cost = report.cost_usd.unwrap_or_default();
            assert!((cost - 0.00207 * steps as f64).abs() < 1e-9, "{case}");
            let input = (steps > 0).then_some(1000 * steps as u64);
            assert_eq!(report.usage.input, input, "{case}");
            assert_eq!(report.actions.len(), count(r#""type":"tool_use""#), "{case}");
            assert_eq!(report.result_text == "STANDIN-FINAL: done.", completed, "{case}");
        }
    }
}

const KEYS: &[&str] = &[
    "type",
    "subtype",
    "message",
    "content",
    "text",
    "name",
    "input",
    "error",
    "is_error",
    "result",
    "usage",
    "rate_limit_info",
    "status",
    "permission_denials",
    "errors",
    "model",
    "item",
    "thread_id",
    "command",
    "changes",
    "path",
    "kind",
    "query",
    "server",
    "tool",
    "input_tokens",
    "cached_input_tokens",
    "timestamp",
    "role",
    "delta",
    "tool_name",
    "tool_id",
    "parameters",
    "severity",
    "stats",
    "total_tokens",
    "models",
    "sessionID",
    "part",
    "messageID",
    "state",
    "filePath",
    "title",
    "reason",
    "tokens",
    "cache",
    "cost",
    "data",
    "statusCode",
    "responseHeaders",
    "retry-after",
    "responseBody",
    "metadata",
    "ref",
];
const WORDS: &[&str] = &[
    "system",
    "init",
    "api_retry",
    "assistant",
    "result",
    "rate_limit_event",
    "tool_use",
    "text",
    "rejected",
    "success",
    "\u{1b}[2J\u{202e}",
    "thread.started",
    "turn.started",
    "turn.failed",
    "item.started",
    "item.completed",
    "error",
    "agent_message",
    "command_execution",
    "file_change",
    "web_search",
    "declined",
    "Reconnecting... 1/9999999999999999999999 (unexpected status 4",
    "You’ve hit your usage limit. Try again at 99:99 PM.",
    "/bin/sh -c '",
    "message",
    "tool_result",
    "unknown",
    "policy_violation",
    "enter_plan_mode",
    "</task-done>",
    "2026-01-02T03:04:05Z",
    "[API Error: x]\nPlease wait and try again later.",
    "[API Error: {\"error\":{\"code\":429,\"details\":[{\"retryDelay\":\"9s\"}]}}]",
    "step_start",
    "step_finish",
    "stop",
    "APIError",
    "UnknownError",
    "3600",
    "{\"error\":{\"code\":429,\"details\":[{}]}}",
];
const TYPES: &[&str] = &[
    "assistant",
    "result",
    "item.started",
    "item.completed",
    "turn.failed",
    "tool_use",
    "tool_result",
    "message",
    "step_start",
    "text",
    "step_finish",
    "error",
];

/// JSON of any shape, or an event of a known kind with anything in it.
fn event() -> impl Strategy<Value = Value> {
    let json = super::json(KEYS, WORDS);
    let kind = prop::sample::select(TYPES);
    let item = prop::sample::select(vec!["agent_message", "command_execution", "file_change", "error"]);
    let of_kind = (kind, item, json.clone(), any::<String>());
    let of_kind = of_kind.prop_map(|(kind, item, field, text)| {
        json!({"type": kind, "timestamp": i64::MAX, "message": text, "part": field, "error": {"message": text, "data": field},
            "item": {"type": item, "text": text, "message": text, "command": text, "status": "declined",
                "changes": [{"path": text, "kind": field}]}})
    });
    prop_oneof![json, of_kind]
}

fn is_clean(line: &str) -> bool {
    line.chars().count() <= 120 && !line.contains(char::is_control)
}

proptest! {
    #[test]
    fn any_bytes_are_survived(
        lines in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..200), any::<bool>()), 0..20),
        code in any::<i32>(),
    ) {
        for kind in KINDS {
            let mut parser = parser(kind);
            for (line, complete) in &lines {
                parser.line(line, *complete);
            }
            prop_assert!(fault_of(&parser.finish(Exit::Code(code))).is_some());
        }
    }

    #[test]
    fn any_json_is_survived_kept_small_and_shown_clean(
        lines in prop::collection::vec(event(), 0..60),
        code in 0..256,
    ) {
        for kind in KINDS {
            let mut parser = parser(kind);
            for line in &lines {
                if let Some(Activity::Said { text } | Activity::Tool { target: text, .. }) =
                    parser.line(line.to_string().as_bytes(), true)
                {
                    prop_assert!(is_clean(&text));
                }
            }
            let report = parser.finish(Exit::Code(code));
            prop_assert!(report.actions.len() <= 36 && report.denials.len() <= 32);
            prop_assert!(report.actions.iter().all(|action| is_clean(action)));
            prop_assert!(report.cost_usd.is_none_or(|cost| cost.is_finite() && cost >= 0.0));
            prop_assert!(!message_of(&report).contains(char::is_control));
        }
    }

    #[test]
    fn any_message_of_an_error_is_survived(
        words in "(\\[API Error: |try again at )?(retry (in|after) )?[0-9.:APM, thNov]{0,20}(s|ms|h|d)?.{0,40}(\\]\n.{0,40})?",
        code in 0..256,
    ) {
        let error = json!({"type": "unknown", "message": words});
        let gemini = json!({"type": "result", "timestamp": "9999-12-30T22:00:00Z", "status": "error", "error": error});
        let codex = json!({"type": "turn.failed", "error": error});
        for (kind, event) in [(AgentKind::Gemini, gemini), (AgentKind::Codex, codex)] {
            let mut parser = parser(kind);
            parser.line(event.to_string().as_bytes(), true);
            let report = parser.finish(Exit::Code(code));
            prop_assert!(fault_of(&report).is_some());
            prop_assert!(!message_of(&report).contains(char::is_control));
        }
    }
}
