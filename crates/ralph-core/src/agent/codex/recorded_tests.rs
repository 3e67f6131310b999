//! The recorded streams of the real program, where they are at hand, and arbitrary input.

use proptest::prelude::*;

use super::super::testing::recorded;
use super::super::{Activity, Exit, Fault, StreamParser};
use super::CodexStream;
use super::stream_tests::{fault_of, message_of, report};

/// Expected class of every recorded stream, by the end of its name; those not named here completed.
const RECORDED: [(&str, Exit, Fault); 9] = [
    ("err400", Exit::Code(1), Fault::Crash),
    ("err401-retries1", Exit::Code(1), Fault::Auth),
    ("err429-retries1", Exit::Code(1), Fault::RateLimit),
    ("err500-default", Exit::Code(1), Fault::Overloaded),
    ("err500-retries1", Exit::Code(1), Fault::Overloaded),
    ("response-failed", Exit::Code(1), Fault::Overloaded),
    ("sigint-during-tool", Exit::Code(1), Fault::Crash),
    ("sigterm-during-tool", Exit::Signal(15), Fault::Crash),
    ("stream-cut", Exit::Code(1), Fault::Network),
];

#[test]
fn recorded_streams() {
    for (case, stream) in recorded("codex") {
        let lines: Vec<&str> = stream.lines().collect();
        let expected = RECORDED.iter().find(|(name, ..)| *name == case);
        let report = report(&lines, expected.map_or(Exit::Code(0), |(_, exit, _)| *exit));
        let class = expected.map(|(.., fault)| *fault);
        assert_eq!(fault_of(&report), class, "{case}");
        assert!(report.session_id.is_some(), "{case}");
        assert_eq!(report.cost_usd, None, "{case}");
        assert_eq!(report.usage.input.is_some(), class.is_none(), "{case}");
        let answered = report.result_text.contains("STANDIN-FINAL");
        assert_eq!(answered, class.is_none(), "{case}");
        let has_tool = stream.contains("command_execution");
        assert_eq!(report.actions.len(), usize::from(has_tool), "{case}");
        let retries = stream.matches("Reconnecting... ").count() as u64;
        assert_eq!(report.retries, retries, "{case}");
    }
}

const KEYS: &[&str] = &[
    "type",
    "item",
    "text",
    "message",
    "error",
    "usage",
    "thread_id",
    "command",
    "changes",
    "path",
    "kind",
    "status",
    "query",
    "server",
    "tool",
    "input_tokens",
    "cached_input_tokens",
];
const WORDS: &[&str] = &[
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
    "\u{1b}[2J\u{202e}",
];

fn json() -> impl Strategy<Value = serde_json::Value> {
    super::super::testing::json(KEYS, WORDS)
}

/// An event of a known kind with an item of a known kind, and anything in its other fields.
fn event() -> impl Strategy<Value = serde_json::Value> {
    let kind = prop::sample::select(vec![
        "item.started",
        "item.completed",
        "error",
        "turn.failed",
    ]);
    let item = prop::sample::select(vec![
        "agent_message",
        "command_execution",
        "file_change",
        "error",
    ]);
    (kind, item, json(), any::<String>()).prop_map(|(kind, item, field, text)| {
        serde_json::json!({"type": kind, "message": text, "error": {"message": text},
            "item": {"type": item, "text": text, "message": text, "command": text, "status": "declined",
                "changes": [{"path": text, "kind": field}]}})
    })
}

proptest! {
    #[test]
    fn any_bytes_are_survived(
        lines in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..200), any::<bool>()), 0..20),
    ) {
        let mut stream = Box::new(CodexStream::new());
        for (line, complete) in &lines {
            stream.line(line, *complete);
        }
        let report = stream.finish(Exit::Code(0));
        prop_assert_eq!(fault_of(&report), Some(Fault::Crash));
    }

    #[test]
    fn any_json_is_survived_kept_small_and_shown_clean(
        lines in prop::collection::vec(prop_oneof![json(), event()], 0..80),
    ) {
        let mut stream = Box::new(CodexStream::new());
        for line in &lines {
            if let Some(Activity::Said { text } | Activity::Tool { target: text, .. }) =
                stream.line(line.to_string().as_bytes(), true)
            {
                prop_assert!(text.chars().count() <= 120 && !text.contains(char::is_control));
            }
        }
        let report = stream.finish(Exit::Code(1));
        prop_assert!(fault_of(&report).is_some(), "nothing was completed");
        prop_assert!(report.actions.len() <= 36);
        let clean = |line: &String| line.chars().count() <= 120 && !line.contains(char::is_control);
        prop_assert!(report.actions.iter().all(clean));
        prop_assert!(!message_of(&report).contains(char::is_control));
    }
}
