//! The recorded streams of the real program, where they are at hand, and arbitrary input.

use proptest::prelude::*;
use serde_json::Value;

use super::super::testing::recorded;
use super::super::{Activity, Exit, Fault, StreamParser};
use super::GeminiStream;
use super::stream_tests::{fault_of, message_of, report};

/// Expected class of every recorded stream, by the end of its name; those not named here completed.
const RECORDED: [(&str, Exit, Fault); 3] = [
    ("err400", Exit::Code(144), Fault::Crash),
    ("err401", Exit::Code(145), Fault::Auth),
    ("loop-detected", Exit::Code(0), Fault::Crash),
];

#[test]
fn recorded_streams() {
    for (case, text) in recorded("gemini") {
        let lines: Vec<&str> = text.lines().collect();
        let expected = RECORDED.iter().find(|(name, ..)| *name == case);
        let report = report(&lines, expected.map_or(Exit::Code(0), |(_, exit, _)| *exit));
        assert_eq!(
            fault_of(&report),
            expected.map(|(.., fault)| *fault),
            "{case}"
        );
        assert!(report.session_id.is_some(), "{case}");
        assert!(report.model.is_some(), "{case}");
        let used = text.matches(r#""tool_use""#).count();
        assert_eq!(report.actions.len(), used, "{case}");
        let said = text.contains(r#""role":"assistant""#);
        assert_eq!(!report.result_text.is_empty(), said, "{case}");
        let counted = !text.contains(r#""input_tokens":0"#);
        assert_eq!(report.usage.input.is_some(), counted, "{case}");
        let cached = report.usage.cache_read.unwrap_or(0);
        assert_eq!(report.usage.input.unwrap_or(0), 9 * cached, "{case}");
        assert!(report.denials.is_empty(), "{case}");
    }
}

const KEYS: &[&str] = &[
    "type",
    "timestamp",
    "role",
    "content",
    "delta",
    "tool_name",
    "tool_id",
    "parameters",
    "command",
    "status",
    "error",
    "message",
    "severity",
    "stats",
    "total_tokens",
    "models",
];
const WORDS: &[&str] = &[
    "init",
    "message",
    "assistant",
    "tool_use",
    "tool_result",
    "error",
    "result",
    "success",
    "unknown",
    "policy_violation",
    "enter_plan_mode",
    "</task-done>",
    "2026-01-02T03:04:05Z",
    "[API Error: x]\nPlease wait and try again later.",
    "[API Error: {\"error\":{\"code\":429,\"details\":[{\"retryDelay\":\"9s\"}]}}]",
    "\u{1b}[2J\u{202e}",
];

fn json() -> impl Strategy<Value = Value> {
    super::super::testing::json(KEYS, WORDS)
}

proptest! {
    #[test]
    fn any_bytes_are_survived(
        lines in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..200), any::<bool>()), 0..20),
        code in any::<i32>(),
    ) {
        let mut stream = Box::new(GeminiStream::new());
        for (line, complete) in &lines {
            stream.line(line, *complete);
        }
        let report = stream.finish(Exit::Code(code));
        prop_assert!(fault_of(&report).is_some());
    }

    #[test]
    fn any_json_is_survived_and_shown_clean(
        lines in prop::collection::vec(json(), 0..20),
        code in 0..256,
    ) {
        let mut stream = Box::new(GeminiStream::new());
        for line in &lines {
            if let Some(Activity::Said { text } | Activity::Tool { target: text, .. }) =
                stream.line(line.to_string().as_bytes(), true)
            {
                prop_assert!(text.chars().count() <= 120 && !text.contains(char::is_control));
            }
        }
        let report = stream.finish(Exit::Code(code));
        prop_assert!(!message_of(&report).contains(char::is_control));
    }

    #[test]
    fn any_message_of_an_error_is_survived(
        words in "(\\[API Error: )?(retry (in|after) )?[0-9.]{0,9}(s|ms|h|d)?.{0,40}(\\]\n.{0,40})?",
        code in 0..256,
    ) {
        let error = serde_json::json!({"type": "unknown", "message": words});
        let line = serde_json::json!({"type": "result", "timestamp": "9999-12-30T22:00:00Z",
            "status": "error", "error": error}).to_string();
        let report = report(&[&line], Exit::Code(code));
        prop_assert!(fault_of(&report).is_some());
        prop_assert!(!message_of(&report).contains(char::is_control));
    }
}
