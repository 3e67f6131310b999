//! Short streams modelled on recorded ones.

use serde_json::{Value, json};

use super::{fault_of, message_of};
use crate::agent::{
    Activity, AgentKind, AgentReport, Ending, Exit, Fault, LogEntry, Price, Setup, StreamParser, Usage,
};

fn parser() -> Box<dyn StreamParser> {
    AgentKind::Opencode.build(Setup::default()).parser()
}

fn report(lines: &[&str], exit: Exit) -> AgentReport {
    let mut stream = parser();
    for line in lines {
        stream.line(line.as_bytes(), true);
    }
    stream.finish(exit)
}

fn event(kind: &str, part: Value) -> String {
    json!({"type": kind, "timestamp": 1_794_770_179_201_i64, "sessionID": "ses_1", "part": part}).to_string()
}

fn began(message: &str) -> String {
    event("step_start", json!({"messageID": message}))
}

fn said(text: &str) -> String {
    event("text", json!({"messageID": "m", "text": text, "time": {"end": 1}}))
}

fn used(tool: &str, state: Value) -> String {
    event("tool_use", json!({"tool": tool, "state": state}))
}

fn ended(reason: &str) -> String {
    let tokens =
        json!({"total": 1014, "input": 1000, "output": 5, "reasoning": 2, "cache": {"write": 4, "read": 3}});
    event("step_finish", json!({"reason": reason, "tokens": tokens, "cost": 0.25}))
}

fn failed(name: &str, data: Value) -> String {
    json!({"type": "error", "timestamp": 1_794_770_179_201_i64, "sessionID": "ses_1",
        "error": {"name": name, "data": data}})
    .to_string()
}

/// A whole session's lines, from pieces.
fn of(lines: &[String], exit: Exit) -> AgentReport {
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    report(&lines, exit)
}

const OK: Exit = Exit::Code(0);
const FAILED: Exit = Exit::Code(1);

#[test]
fn a_success_is_read_whole() {
    let write = json!({"status": "completed", "title": "src/a.rs",
        "input": {"filePath": "/p/src/a.rs", "content": "x"}});
    let lines = [
        began("m1"),
        said("Writing it."),
        used("write", write),
        ended("tool-calls"),
        began("m2"),
        said("It is done."),
        ended("stop"),
    ];
    assert_eq!(
        of(&lines, OK),
        AgentReport {
            ending: Ending::Completed,
            result_text: "It is done.".into(),
            session_id: Some("ses_1".into()),
            model: None,
            cost_usd: Some(0.5),
            usage: Usage { input: Some(2000), output: Some(14), cache_read: Some(6), cache_write: Some(8) },
            denials: vec![],
            retries: 0,
            limit: None,
            actions: vec!["write src/a.rs".into()],
        }
    );
}

#[test]
fn a_last_step_without_words_leaves_all_that_was_said() {
    let lines =
        [began("m1"), said("<task-done>1.3</task-done>"), ended("tool-calls"), began("m2"), ended("stop")];
    assert_eq!(of(&lines, OK).result_text, "<task-done>1.3</task-done>");
}

#[test]
fn only_a_step_that_stopped_finishes_a_session() {
    for (reason, message) in [
        ("length", "the model reached its output token limit"),
        ("tool-calls", "opencode ended after a step with finish reason `tool-calls` (exit code 0)"),
        ("unknown", "opencode ended after a step with finish reason `unknown` (exit code 0)"),
    ] {
        let whole = of(&[began("m1"), said("half"), ended(reason)], OK);
        assert_eq!(fault_of(&whole), Some(Fault::Crash), "{reason}");
        assert_eq!(message_of(&whole), message);
        assert_eq!(whole.result_text, "half");
        assert_eq!(whole.cost_usd, Some(0.25));
    }
    let again = [began("m1"), said("one"), ended("stop"), began("m2")];
    let again = of(&again, Exit::Signal(9));
    assert_eq!(message_of(&again), "opencode ended without finishing (signal 9)");
    // Another event of a later version is no further step.
    let odd = json!({"type": "session_idle", "sessionID": "ses_1"}).to_string();
    let finished = [began("m1"), said("one"), ended("stop"), odd];
    assert_eq!(of(&finished, OK).ending, Ending::Completed);
}

#[test]
fn a_session_without_events_names_the_exit_and_what_was_printed() {
    let nothing = report(&["Error: Configuration is invalid"], FAILED);
    assert_eq!(fault_of(&nothing), Some(Fault::Crash));
    assert_eq!(
        message_of(&nothing),
        "opencode ended without finishing (exit code 1): Error: Configuration is invalid"
    );
    assert_eq!((nothing.cost_usd, nothing.usage, nothing.session_id), (None, Usage::default(), None));

    let mut cut = parser();
    cut.line(br#"{"type":"text","part":{"text":"lo"#, false);
    assert_eq!(
        message_of(&cut.finish(Exit::Signal(9))),
        "opencode ended without finishing (signal 9; output lines too long to read: 1)"
    );
}

#[test]
fn an_end_after_the_last_word_is_no_fault() {
    let lines = [began("m1"), said("done"), ended("stop")];
    for exit in [Exit::Signal(15), Exit::Code(143)] {
        assert_eq!(of(&lines, exit).ending, Ending::Completed, "{exit:?}");
    }
    assert_eq!(fault_of(&of(&lines, FAILED)), Some(Fault::Crash));

    let mut stream = parser();
    for line in &lines {
        assert_eq!(stream.conclusion(), None);
        stream.line(line.as_bytes(), true);
    }
    assert_eq!(stream.conclusion(), Some("done"));
    stream.line(began("m2").as_bytes(), true);
    assert_eq!(stream.conclusion(), None);
}

#[test]
fn an_error_that_a_later_step_overcame_is_none() {
    let overflow = failed("ContextOverflowError", json!({"message": "too long"}));
    let go_on = event("text", json!({"synthetic": true, "text": "Go on."}));
    let mut lines = vec![
        overflow.clone(),
        began("m1"),
        said("A summary."),
        ended("stop"),
        go_on,
        began("m2"),
        said("done"),
        ended("stop"),
    ];
    let whole = of(&lines, FAILED);
    assert_eq!(whole.ending, Ending::Completed);
    assert_eq!(whole.result_text, "done");
    lines.push(overflow);
    let whole = of(&lines, FAILED);
    assert_eq!(message_of(&whole), "too long");
    assert_eq!(whole.result_text, "A summary.\ndone");
}

#[test]
fn faults_have_their_class_message_and_reset_time() {
    let limited = json!({"message": "slow down", "statusCode": 429, "isRetryable": true,
        "responseHeaders": {"retry-after": "1"}});
    let expected = Ending::Faulted {
        fault: Fault::RateLimit,
        message: "slow down".into(),
        resets_at: Some(1_794_770_181),
    };
    let whole = of(&[failed("APIError", limited.clone())], FAILED);
    assert_eq!(whole.ending, expected);
    assert_eq!(whole.session_id.as_deref(), Some("ses_1"));
    // The exit code proves nothing.
    assert_eq!(of(&[failed("APIError", limited)], OK).ending, expected);

    let busy = json!({"message": "busy", "statusCode": 503, "isRetryable": true,
        "responseHeaders": {"retry-after": "1"}});
    let expected = Ending::Faulted { fault: Fault::Overloaded, message: "busy".into(), resets_at: None };
    assert_eq!(of(&[failed("APIError", busy)], FAILED).ending, expected);

    let unnamed = json!({"type": "error", "error": "odd"}).to_string();
    let unnamed = of(&[unnamed], FAILED);
    assert_eq!(fault_of(&unnamed), Some(Fault::Crash));
    assert_eq!(message_of(&unnamed), "opencode reported an unnamed error");
}

#[test]
fn a_refused_start_is_told_from_a_breakdown_on_the_way() {
    let kept = failed("UnknownError", json!({"message": "Unexpected", "ref": "err_1"}));
    let at_once = of(std::slice::from_ref(&kept), FAILED);
    assert_eq!(fault_of(&at_once), Some(Fault::Config));
    let later = of(&[began("m1"), kept], FAILED);
    assert_eq!(fault_of(&later), Some(Fault::Crash));
}

#[test]
fn prose_is_no_evidence() {
    let prose = "APIError 429 rate limit reached, 401 authentication_error, overloaded_error";
    let whole = of(&[began("m1"), said(prose), ended("stop")], OK);
    assert_eq!(whole.ending, Ending::Completed);
    assert_eq!(whole.result_text, prose);
    let whole = of(&[began("m1"), said(prose)], FAILED);
    assert_eq!(fault_of(&whole), Some(Fault::Crash));
}

#[test]
fn denied_tools_are_named_once() {
    let rejected = json!({"status": "error", "input": {"command": "ls"},
        "error": "The user rejected permission to use this specific tool call."});
    let forbidden = json!({"status": "error", "input": {"filePath": "/p/a"},
        "error": "The user has specified a rule which prevents you from using this specific tool call. Here are some of the relevant rules []"});
    let quoted = json!({"status": "completed", "input": {"command": "cat"}, "output": "x",
        "error": "The user rejected permission to use this specific tool call."});
    let broken = json!({"status": "error", "error": "It says: The user rejected permission to use this specific tool call."});
    let lines = [
        began("m1"),
        used("bash", rejected.clone()),
        used("bash", rejected),
        used("edit", forbidden),
        used("read", quoted),
        used("glob", broken),
        ended("tool-calls"),
    ];
    let whole = of(&lines, OK);
    assert_eq!(whole.denials, ["bash", "edit"]);
    assert_eq!(whole.actions[..3], ["bash ls", "bash ls", "edit /p/a"]);
    assert_eq!(fault_of(&whole), Some(Fault::Crash));
}

#[test]
fn a_cost_of_nothing_is_unknown() {
    let free = ended("stop").replace("0.25", "0");
    let whole = of(&[began("m1"), said("done"), free.clone()], OK);
    assert_eq!((whole.cost_usd, whole.usage.input), (None, Some(1000)));
    let partly = [began("m1"), free, began("m2"), ended("stop")];
    assert_eq!(of(&partly, OK).cost_usd, Some(0.25));
}

#[test]
fn odd_fields_cost_only_themselves() {
    let odd = r#"{"type":"step_finish","sessionID":7,"timestamp":"?","part":{"reason":"stop","tokens":[1],"cost":"?"}}"#;
    let text = r#"{"type":"text","part":{"text":"cut \ud83d here"}}"#;
    let lines = ["", "not json", "[]", "null", "{}", text, odd];
    let whole = report(&lines, OK);
    assert_eq!(whole.ending, Ending::Completed);
    assert_eq!(whole.result_text, "cut \u{fffd}\u{fffd}\u{fffd} here");
    assert_eq!((whole.cost_usd, whole.session_id), (None, None));
}

#[test]
fn displays_get_short_clean_lines() {
    let mut stream = parser();
    let command = format!("cargo test\n{}", "x".repeat(500));
    let run = json!({"status": "completed", "title": "t", "input": {"command": command, "description": "d"}});
    let search = json!({"status": "completed", "input": {"pattern": "fn main", "path": "src"}});
    let lines = [
        began("m1"),
        began("m1"),
        began("m1"),
        said("\n\u{1b}[31mred\u{7}\nsecond line"),
        used("bash", run),
        used("grep", search),
        used("todowrite", json!({"status": "completed", "input": {}})),
        ended("tool-calls"),
        began("m2"),
        began("m2"),
        said(" \n"),
        ended("stop"),
    ];
    let shown: Vec<Activity> = lines.iter().filter_map(|line| stream.line(line.as_bytes(), true)).collect();
    let retrying = |attempt| Activity::Retrying { attempt, max: 5, status: None };
    let tool = |name: &str, target: &str| Activity::Tool { name: name.into(), target: target.into() };
    assert_eq!(
        shown,
        [
            Activity::Started { model: None },
            retrying(1),
            retrying(2),
            Activity::Said { text: "red".into() },
            tool("bash", "cargo test…"),
            tool("grep", "fn main"),
            tool("todowrite", ""),
            retrying(1),
        ]
    );
    assert_eq!(stream.finish(OK).retries, 3);
}

#[test]
fn what_is_kept_is_bounded() {
    let mut stream = parser();
    let long = said(&"ä".repeat(100_000));
    for number in 0..40 {
        stream.line(long.as_bytes(), true);
        let name = format!("tool{number}");
        let denied = json!({"status": "error", "input": {"command": "x ".repeat(50_000)},
            "error": "The user rejected permission to use this specific tool call."});
        stream.line(used(&name, denied).as_bytes(), true);
    }
    stream.line(ended("stop").as_bytes(), true);
    let report = stream.finish(OK);
    let kept = report.result_text.len();
    assert!((255 * 1024..=256 * 1024).contains(&kept), "{kept}");
    assert_eq!((report.actions.len(), report.denials.len()), (36, 32));
    assert!(report.actions[35].starts_with("tool39 x x") && report.actions[35].len() < 400);
}

#[test]
fn what_a_session_cost_so_far_is_told_while_it_goes_on() {
    let mut stream = parser();
    assert_eq!(stream.cost_so_far(None), None);
    for line in [began("m"), ended("tool-calls")] {
        stream.line(line.as_bytes(), true);
    }
    assert_eq!(stream.cost_so_far(None), Some(0.25));
    for line in [began("n"), ended("stop")] {
        stream.line(line.as_bytes(), true);
    }
    assert_eq!(stream.cost_so_far(None), None);
}

#[test]
fn where_the_program_knows_no_price_its_tokens_cost_what_the_settings_say() {
    let mut stream = parser();
    let tokens = json!({"input": 1_000_000, "output": 100_000});
    let step = json!({"reason": "tool-calls", "cost": 0, "tokens": tokens});
    for line in [began("m"), event("step_finish", step)] {
        stream.line(line.as_bytes(), true);
    }
    assert_eq!(stream.cost_so_far(None), None);
    let price = Price { input: 2.0, output: 10.0, ..Price::default() };
    assert_eq!(stream.cost_so_far(Some(&price)), Some(3.0));
}

#[test]
fn a_log_tells_all_that_was_said() {
    let mut stream = parser();
    let words = format!("First line.\n{}", "more ".repeat(200));
    let told: Vec<LogEntry> =
        [began("m"), said(&words)].iter().flat_map(|line| stream.entries(line.as_bytes(), true)).collect();
    assert_eq!(told.last(), Some(&LogEntry::Said { text: words }));
}
