//! The recorded streams of the real program, where they are at hand, and arbitrary input.

use proptest::prelude::*;

use super::super::testing::recorded;
use super::super::{Activity, Exit, Fault, StreamParser};
use super::ClaudeStream;
use super::stream_tests::{fault_of, message_of, report};

/// Expected class of every recorded stream, by the end of its name; those not named here completed.
const RECORDED: [(&str, Exit, Fault); 25] = [
    ("api-timeout", Exit::Code(1), Fault::Network),
    ("econnrefused", Exit::Code(1), Fault::Network),
    ("err400", Exit::Code(1), Fault::Crash),
    ("err401-retries1", Exit::Code(1), Fault::Auth),
    ("err404-model", Exit::Code(1), Fault::Config),
    ("err429-default-10-retries", Exit::Code(1), Fault::RateLimit),
    ("err429-retries2", Exit::Code(1), Fault::RateLimit),
    ("err500-retries2", Exit::Code(1), Fault::Overloaded),
    (
        "err529-default-10-retries",
        Exit::Code(1),
        Fault::Overloaded,
    ),
    ("err529-retries2", Exit::Code(1), Fault::Overloaded),
    ("max-budget", Exit::Code(1), Fault::Budget),
    ("max-tokens", Exit::Code(1), Fault::Crash),
    ("max-turns", Exit::Code(1), Fault::Crash),
    ("no-key", Exit::Code(1), Fault::Auth),
    ("ratelimit-rejected-apikey", Exit::Code(1), Fault::RateLimit),
    ("ratelimit-rejected-oauth", Exit::Code(1), Fault::RateLimit),
    ("refusal", Exit::Code(1), Fault::Crash),
    ("resume-unknown", Exit::Code(1), Fault::Crash),
    ("sigint-during-request", Exit::Code(0), Fault::Crash),
    ("sigint-during-tool", Exit::Code(0), Fault::Crash),
    ("sigkill-during-tool", Exit::Signal(9), Fault::Crash),
    ("sigterm-during-request", Exit::Code(143), Fault::Crash),
    ("sigterm-during-tool", Exit::Code(143), Fault::Crash),
    ("sse-error-no-fallback", Exit::Code(1), Fault::Overloaded),
    ("stream-cut", Exit::Code(1), Fault::Network),
];

#[test]
fn recorded_streams() {
    for (case, text) in recorded("claude") {
        let lines: Vec<&str> = text.lines().collect();
        let expected = RECORDED.iter().find(|(name, ..)| *name == case);
        let report = report(&lines, expected.map_or(Exit::Code(0), |(_, exit, _)| *exit));
        assert_eq!(
            fault_of(&report),
            expected.map(|(.., fault)| *fault),
            "{case}"
        );
        assert!(report.session_id.is_some(), "{case}");
        // What was interrupted in its first answer says 0, and means that nothing was counted.
        let told = text.contains(r#""type":"result""#) && case != "sigint-during-request";
        assert_eq!(report.cost_usd.is_some(), told, "{case}");
        assert_eq!(report.usage.input.is_some(), told, "{case}");
        assert_eq!(
            report.denials.is_empty(),
            case != "permission-denied",
            "{case}"
        );
        assert_eq!(
            report.actions.is_empty(),
            !text.contains("tool_use\",\"id"),
            "{case}"
        );
        assert_eq!(
            report.retries,
            text.matches("\"api_retry\"").count() as u64,
            "{case}"
        );
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
];

fn json() -> impl Strategy<Value = serde_json::Value> {
    super::super::testing::json(KEYS, WORDS)
}

proptest! {
    #[test]
    fn any_bytes_are_survived(
        lines in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..200), any::<bool>()), 0..20),
    ) {
        let mut stream = Box::new(ClaudeStream::new());
        for (line, complete) in &lines {
            stream.line(line, *complete);
        }
        let report = stream.finish(Exit::Code(0));
        prop_assert_eq!(fault_of(&report), Some(Fault::Crash));
    }

    #[test]
    fn any_json_is_survived_and_shown_clean(lines in prop::collection::vec(json(), 0..20)) {
        let mut stream = Box::new(ClaudeStream::new());
        for line in &lines {
            if let Some(Activity::Said { text } | Activity::Tool { target: text, .. }) =
                stream.line(line.to_string().as_bytes(), true)
            {
                prop_assert!(text.chars().count() <= 120 && !text.contains(char::is_control));
            }
        }
        let report = stream.finish(Exit::Code(1));
        prop_assert!(report.actions.len() <= 8);
        prop_assert!(!message_of(&report).contains(char::is_control));
    }
}
