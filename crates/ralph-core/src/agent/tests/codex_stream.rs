//! Short streams modelled on recorded ones.

use jiff::Zoned;
use serde_json::{Value, json};

use super::{fault_of, message_of};
use crate::agent::codex::CodexEvents;
use crate::agent::session::EventParser;
use crate::agent::{Activity, AgentReport, Ending, Exit, Fault, LogEntry, StreamParser, Usage};

const THREAD: &str = r#"{"type":"thread.started","thread_id":"th-1"}"#;
const TURN: &str = r#"{"type":"turn.started"}"#;
const OK: &str = r#"{"type":"turn.completed","usage":{"input_tokens":2000,"cached_input_tokens":200,"cache_write_input_tokens":50,"output_tokens":14,"reasoning_output_tokens":4}}"#;

/// 2026-11-16, 09:16:30 in Greenwich; the agent works in /p.
fn parser() -> Box<dyn StreamParser> {
    let now = || Zoned::new(jiff::Timestamp::constant(1_794_820_590, 0), jiff::tz::TimeZone::UTC);
    let reader = CodexEvents::in_dir("/p".into(), now);
    Box::new(EventParser::new("codex", reader))
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

fn item(event: &str, item: Value) -> String {
    json!({"type": format!("item.{event}"), "item": item}).to_string()
}

fn said(text: &str) -> String {
    item("completed", json!({"id": "item_0", "type": "agent_message", "text": text}))
}

fn ran(event: &str, command: &str) -> String {
    let fields = json!({"id": "item_1", "type": "command_execution",
        "command": format!("/bin/bash -lc '{command}'"), "aggregated_output": "", "exit_code": null,
        "status": "in_progress"});
    item(event, fields)
}

fn error(message: &str) -> String {
    json!({"type": "error", "message": message}).to_string()
}

fn failed(message: &str) -> String {
    json!({"type": "turn.failed", "error": {"message": message}}).to_string()
}

#[test]
fn a_success_is_read_whole() {
    let lines = [
        THREAD,
        TURN,
        &said("I look around."),
        &ran("started", "cargo test"),
        &ran("completed", "cargo test"),
        &said("done"),
        OK,
    ];
    assert_eq!(
        report(&lines, Exit::Code(0)),
        AgentReport {
            ending: Ending::Completed,
            result_text: "done".into(),
            session_id: Some("th-1".into()),
            model: None,
            cost_usd: None,
            usage: Usage {
                input: Some(1750),
                output: Some(14),
                cache_read: Some(200),
                cache_write: Some(50)
            },
            denials: vec![],
            retries: 0,
            limit: None,
            actions: vec!["Bash cargo test".into()],
        }
    );
}

#[test]
fn a_failed_turn_has_the_class_of_its_error_and_all_that_was_said() {
    let busy = "unexpected status 529 <unknown status code>: Overloaded, url: u";
    let retry = error(&format!("Reconnecting... 1/1 ({busy})"));
    let lines = [THREAD, TURN, &said("one"), &said("two"), &retry, &error(busy), &failed(busy)];
    let report = report(&lines, Exit::Code(1));
    assert_eq!(fault_of(&report), Some(Fault::Overloaded));
    assert_eq!(message_of(&report), busy);
    assert_eq!(report.result_text, "one\ntwo");
    assert_eq!(report.retries, 1);
    assert_eq!((report.cost_usd, report.usage), (None, Usage::default()));
    // The exit code proves nothing.
    assert_eq!(self::report(&lines, Exit::Code(0)), report);
}

#[test]
fn prose_is_no_evidence() {
    let prose = "exceeded retry limit, last status: 429 Too Many Requests";
    let warning = item("completed", json!({"type": "error", "message": prose}));
    let ok = report(&[THREAD, TURN, &warning, &said(prose), OK], Exit::Code(0));
    assert_eq!((&ok.ending, ok.result_text.as_str()), (&Ending::Completed, prose));
    let ended = report(&[THREAD, TURN, &warning, &said(prose)], Exit::Code(1));
    assert_eq!(fault_of(&ended), Some(Fault::Crash));
}

#[test]
fn a_usage_limit_tells_when_it_is_over() {
    let used_up = "You’ve hit your usage limit. Visit https://x/usage to purchase more credits or try again at 9:17 AM.";
    let limited = report(&[THREAD, TURN, &error(used_up), &failed(used_up)], Exit::Code(1));
    let Ending::Faulted { fault, resets_at, .. } = limited.ending else { panic!("completed") };
    // 09:18:00, the end of the minute that was told.
    assert_eq!((fault, resets_at), (Fault::RateLimit, Some(1_794_820_680)));
    let notice = limited.limit.map(|limit| (limit.status, limit.resets_at));
    assert_eq!(notice, Some(("rejected".into(), Some(1_794_820_680))));

    let later = "You’ve hit your usage limit. Try again later.";
    let later = report(&[THREAD, TURN, &failed(later)], Exit::Code(1));
    let Ending::Faulted { fault, resets_at, .. } = later.ending else { panic!("completed") };
    assert_eq!((fault, resets_at), (Fault::RateLimit, None));
}

#[test]
fn without_a_result_the_last_trouble_decides_unless_an_answer_followed() {
    let waiting = error("Reconnecting... waiting for network (Connection failed: error sending request)");
    let killed = report(&[THREAD, TURN, &waiting], Exit::Signal(15));
    assert_eq!(fault_of(&killed), Some(Fault::Network));
    assert_eq!(
        message_of(&killed),
        "codex ended without a result (signal 15): Connection failed: error sending request"
    );
    let untold = report(&[THREAD, TURN, &error("Reconnecting... 2/5")], Exit::Signal(15));
    assert_eq!(fault_of(&untold), Some(Fault::Network));

    for answer in [said("on"), ran("started", "make")] {
        let went_on = report(&[THREAD, TURN, &waiting, &answer], Exit::Signal(15));
        assert_eq!(fault_of(&went_on), Some(Fault::Crash), "{answer}");
        assert_eq!(message_of(&went_on), "codex ended without a result (signal 15)");
    }
    let nothing = report(&[], Exit::Code(2));
    assert_eq!(message_of(&nothing), "codex ended without a result (exit code 2)");
    assert_eq!(fault_of(&nothing), Some(Fault::Crash));
}

#[test]
fn an_exit_code_after_an_answer_counts_unless_it_was_told_to_end() {
    let lines = [THREAD, TURN, &said("done"), OK];
    for exit in [Exit::Code(0), Exit::Code(143), Exit::Signal(15)] {
        assert_eq!(report(&lines, exit).ending, Ending::Completed, "{exit:?}");
    }
    let bad = report(&lines, Exit::Code(1));
    assert_eq!(fault_of(&bad), Some(Fault::Crash));
    assert_eq!(message_of(&bad), "codex failed after its answer (exit code 1)");
}

#[test]
fn of_several_turns_the_words_add_up_and_the_last_end_counts() {
    let more = OK.replace("2000", "3000");
    let lines = [THREAD, TURN, &said("<a>"), &said("b"), OK, TURN, &said("c"), &more];
    let whole = report(&lines, Exit::Code(0));
    assert_eq!(whole.result_text, "b\nc");
    assert_eq!(whole.usage.input, Some(2750));
    let failure = failed("Invalid prompt");
    let worse = [&lines[..6], &[failure.as_str()]].concat();
    let worse = report(&worse, Exit::Code(1));
    assert_eq!(fault_of(&worse), Some(Fault::Crash));
    assert_eq!(worse.result_text, "<a>\nb");
    assert_eq!(worse.usage.input, Some(1750));
}

#[test]
fn words_of_a_turn_that_failed_are_no_answer_of_the_next() {
    let failure = failed("Invalid prompt");
    let lines = [THREAD, TURN, &said("a"), &said("b"), &failure, TURN, OK];
    let report = report(&lines, Exit::Code(0));
    assert_eq!(report.ending, Ending::Completed);
    assert_eq!(report.result_text, "a\nb");
}

#[test]
fn what_nobody_counted_is_unknown_and_not_nothing() {
    let none = r#"{"type":"turn.completed","usage":{"input_tokens":0,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0}}"#;
    let report = report(&[THREAD, TURN, &said("done"), none], Exit::Code(0));
    assert_eq!(report.usage, Usage::default());
    assert_eq!(report.result_text, "done");
}

#[test]
fn the_last_word_is_a_conclusion_until_another_turn_begins() {
    let mut stream = parser();
    for line in [THREAD, TURN, &said("done")] {
        stream.line(line.as_bytes(), true);
        assert_eq!(stream.conclusion(), None);
    }
    stream.line(OK.as_bytes(), true);
    assert_eq!(stream.conclusion(), Some("done"));
    stream.line(TURN.as_bytes(), true);
    assert_eq!(stream.conclusion(), None);
}

#[test]
fn tools_are_told_once_and_in_a_few_words() {
    let change = json!({"id": "item_2", "type": "file_change", "status": "in_progress", "changes": [
        {"path": "/p/src/a.rs", "kind": "update"}, {"path": "/p/b.rs", "kind": "add"},
        {"path": "/q/c.rs", "kind": "delete"}]});
    // As it is printed: the id is there twice.
    let search = r#"{"type":"item.EVENT","item":{"id":"item_0","type":"web_search","id":"ws_1","query":"QUERY","action":{"type":"search"}}}"#;
    let search = |event: &str, query: &str| search.replace("EVENT", event).replace("QUERY", query);
    let call = json!({"type": "mcp_tool_call", "server": "docs", "tool": "find", "arguments": {}});
    let helper = json!({"type": "collab_tool_call", "tool": "spawn_agent", "prompt": "Look\nfor it"});
    let lines = [
        THREAD,
        TURN,
        &ran("started", "cargo test"),
        &ran("started", "cargo doc"),
        &ran("completed", "cargo test"),
        &ran("completed", "cargo doc"),
        &ran("started", "cargo test"),
        &item("started", change.clone()),
        &item("completed", change),
        &search("started", ""),
        &search("completed", "jiff"),
        &item("completed", call),
        &item("started", helper),
        &item("started", json!({"type": "todo_list", "items": []})),
        &item("completed", json!({"type": "reasoning", "text": "hm"})),
    ];
    assert_eq!(
        report(&lines, Exit::Code(0)).actions,
        [
            "Bash cargo test",
            "Bash cargo doc",
            "Bash cargo test",
            "Edit src/a.rs",
            "Write b.rs",
            "Delete /q/c.rs",
            "WebSearch jiff",
            "docs.find",
            "spawn_agent Look for it",
        ]
    );
}

#[test]
fn declined_commands_are_denials_and_another_model_is_noted() {
    let declined = ran("completed", "rm -r x").replace("in_progress", "declined");
    let other = json!({"type": "error", "message": "model rerouted: gpt-a -> gpt-b (HighRiskCyberActivity)"});
    let other = item("completed", other);
    let report = report(&[THREAD, &declined, &declined, &other, OK], Exit::Code(0));
    assert_eq!(report.denials, ["Bash"]);
    assert_eq!(report.model.as_deref(), Some("gpt-b"));
}

#[test]
fn odd_fields_cost_only_themselves() {
    let odd = r#"{"type":"turn.completed","usage":{"input_tokens":-1,"cached_input_tokens":"?","output_tokens":3},"item":7,"error":[],"message":{}}"#;
    let text = r#"{"type":"item.completed","item":{"type":"agent_message","text":"cut \ud83d here","changes":{},"status":1}}"#;
    let report = report(&["", "no json", "[]", "null", "{}", THREAD, text, odd], Exit::Code(0));
    assert_eq!(report.ending, Ending::Completed);
    assert_eq!(report.result_text, "cut \u{fffd}\u{fffd}\u{fffd} here");
    assert_eq!((report.usage.input, report.usage.output), (None, Some(3)));
    assert_eq!(report.session_id.as_deref(), Some("th-1"));
}

#[test]
fn displays_get_short_clean_lines() {
    let retry = error("Reconnecting... 2/5 (unexpected status 502 Bad Gateway: x, url: u)");
    let shown = activities(&[
        THREAD,
        TURN,
        &said("\n\u{1b}[31mred\u{7}\nsecond line"),
        &ran("started", &format!("cargo test\n{}", "x".repeat(500))),
        &retry,
        &error("Reconnecting... waiting for network (Connection failed: x)"),
        OK,
    ]);
    assert_eq!(
        shown,
        [
            Activity::Started { model: None },
            Activity::Said { text: "red".into() },
            Activity::Tool { name: "Bash".into(), target: "cargo test…".into() },
            Activity::Retrying { attempt: 2, max: 5, status: Some(502) },
            Activity::Retrying { attempt: 2, max: 0, status: None },
        ]
    );
}

#[test]
fn what_is_kept_is_bounded() {
    let mut stream = parser();
    let long = said(&"ä".repeat(400_000));
    for number in 0..40 {
        for line in [TURN, &long, &ran("started", &format!("step {number}")), OK] {
            stream.line(line.as_bytes(), true);
        }
    }
    stream.line(error(&"e".repeat(1_000_000)).as_bytes(), true);
    stream.line(failed(&"f".repeat(1_000_000)).as_bytes(), true);
    stream.line(br#"{"type":"turn.completed","usa"#, false);
    let report = stream.finish(Exit::Signal(9));
    let length = report.result_text.len();
    assert!((255 * 1024..=256 * 1024).contains(&length), "{length}");
    assert_eq!(report.actions.len(), 36);
    assert_eq!(report.actions.last().map(String::as_str), Some("Bash step 39"));
    assert!(message_of(&report).chars().count() <= 500);
}

#[test]
fn a_log_tells_all_that_was_said() {
    let mut stream = parser();
    let words = format!("First line.\n{}", "more ".repeat(200));
    let told = stream.entries(said(&words).as_bytes(), true);
    assert_eq!(told, [LogEntry::Said { text: words }]);
}
