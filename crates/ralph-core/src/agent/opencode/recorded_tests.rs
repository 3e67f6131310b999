//! The recorded streams of the real program, where they are at hand, and arbitrary input.

use proptest::prelude::*;

use super::super::testing::recorded;
use super::super::{Activity, Exit, Fault, StreamParser};
use super::OpencodeStream;
use super::stream_tests::{fault_of, message_of, report};

/// Expected class of every recorded stream, by the end of its name; those not named here completed.
const RECORDED: [(&str, Fault); 3] = [
    ("err400", Fault::Crash),
    ("err401", Fault::Auth),
    ("err429", Fault::RateLimit),
];

#[test]
fn recorded_streams() {
    for (case, text) in recorded("opencode") {
        let lines: Vec<&str> = text.lines().collect();
        let expected = RECORDED.iter().find(|(name, _)| *name == case);
        let exit = expected.map_or(Exit::Code(0), |_| Exit::Code(1));
        let report = report(&lines, exit);
        assert_eq!(
            fault_of(&report),
            expected.map(|(_, fault)| *fault),
            "{case}"
        );
        assert!(report.session_id.is_some(), "{case}");
        let steps = text.matches(r#""type":"step_finish""#).count();
        let cost = report.cost_usd.unwrap_or_default();
        assert!((cost - 0.00207 * steps as f64).abs() < 1e-9, "{case}");
        let input = (steps > 0).then_some(1000 * steps as u64);
        assert_eq!(report.usage.input, input, "{case}");
        let tools = text.matches(r#""type":"tool_use""#).count();
        assert_eq!(report.actions.len(), tools, "{case}");
        if expected.is_none() {
            assert_eq!(report.result_text, "STANDIN-FINAL: done.", "{case}");
        }
    }
}

const KEYS: &[&str] = &[
    "type",
    "timestamp",
    "sessionID",
    "part",
    "messageID",
    "text",
    "tool",
    "state",
    "status",
    "input",
    "filePath",
    "title",
    "reason",
    "tokens",
    "cache",
    "cost",
    "error",
    "name",
    "data",
    "message",
    "statusCode",
    "responseHeaders",
    "retry-after",
    "responseBody",
    "metadata",
    "ref",
];
const WORDS: &[&str] = &[
    "step_start",
    "text",
    "tool_use",
    "step_finish",
    "error",
    "stop",
    "APIError",
    "UnknownError",
    "3600",
    "{\"error\":{\"code\":429,\"details\":[{}]}}",
    "\u{1b}[2J\u{202e}",
];

fn json() -> impl Strategy<Value = serde_json::Value> {
    super::super::testing::json(KEYS, WORDS)
}

/// An event of a known kind with anything in it.
fn event() -> impl Strategy<Value = serde_json::Value> {
    let kind = prop::sample::select(vec![
        "step_start",
        "text",
        "tool_use",
        "step_finish",
        "error",
    ]);
    (kind, json(), json()).prop_map(|(kind, part, error)| {
        serde_json::json!({"type": kind, "timestamp": i64::MAX, "part": part, "error": error})
    })
}

proptest! {
    #[test]
    fn any_bytes_are_survived(
        lines in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..200), any::<bool>()), 0..20),
    ) {
        let mut stream = Box::new(OpencodeStream::new());
        for (line, complete) in &lines {
            stream.line(line, *complete);
        }
        let report = stream.finish(Exit::Code(0));
        prop_assert_eq!(fault_of(&report), Some(Fault::Crash));
    }

    #[test]
    fn any_json_is_survived_and_shown_clean(
        lines in prop::collection::vec(prop_oneof![json(), event()], 0..60),
    ) {
        let mut stream = Box::new(OpencodeStream::new());
        for line in &lines {
            if let Some(Activity::Said { text } | Activity::Tool { target: text, .. }) =
                stream.line(line.to_string().as_bytes(), true)
            {
                prop_assert!(text.chars().count() <= 120 && !text.contains(char::is_control));
            }
        }
        let report = stream.finish(Exit::Code(1));
        prop_assert!(report.actions.len() <= 36 && report.denials.len() <= 32);
        prop_assert!(report.cost_usd.is_none_or(|cost| cost.is_finite() && cost > 0.0));
        prop_assert!(!message_of(&report).contains(char::is_control));
    }
}
