//! Short streams modelled on recorded ones.

use serde_json::{Value, json};

use super::{fault_of, message_of};
use crate::agent::{
    Activity, AgentKind, AgentReport, Ending, Exit, Fault, LogEntry, Setup, StreamParser, Usage,
};

const INIT: &str =
    r#"{"type":"init","timestamp":"2026-01-02T03:04:05.000Z","session_id":"s1","model":"flash"}"#;
const PROMPT: &str = r#"{"type":"message","role":"user","content":"<task-done>t-1</task-done>"}"#;
const OK: &str = r#"{"type":"result","timestamp":"2026-01-02T03:04:06.000Z","status":"success","stats":{"total_tokens":1012,"input_tokens":1000,"output_tokens":7,"cached":100,"input":900,"duration_ms":92,"tool_calls":0,"models":{"gemini-9-flash":{"total_tokens":1000},"gemini-9-flash-lite":{"total_tokens":12}}}}"#;

fn parser() -> Box<dyn StreamParser> {
    AgentKind::Gemini.build(Setup::default()).parser()
}

fn report(lines: &[&str], exit: Exit) -> AgentReport {
    let mut stream = parser();
    for line in lines {
        stream.line(line.as_bytes(), true);
    }
    stream.finish(exit)
}

fn said(text: &str) -> String {
    json!({"type": "message", "role": "assistant", "content": text, "delta": true}).to_string()
}

fn used(tool: &str, parameters: Value) -> String {
    json!({"type": "tool_use", "tool_name": tool, "tool_id": format!("{tool}__1"),
        "parameters": parameters})
    .to_string()
}

fn came_of(tool: &str, error: Option<&str>) -> String {
    let mut event = json!({"type": "tool_result", "tool_id": format!("{tool}__1"),
        "status": "success", "output": "done"});
    if let Some(kind) = error {
        event["status"] = json!("error");
        event["error"] = json!({"type": kind, "message": "No."});
    }
    event.to_string()
}

#[test]
fn a_success_is_read_whole() {
    let write = used("write_file", json!({"file_path": "src/a.rs", "content": "x"}));
    let test = used("run_shell_command", json!({"command": "cargo test", "description": "d"}));
    let lines = [
        INIT,
        PROMPT,
        &said("I wri"),
        &said("te it."),
        &write,
        &came_of("write_file", None),
        &test,
        &came_of("run_shell_command", None),
        &said("It wor"),
        &said("ks.\n"),
        OK,
    ];
    assert_eq!(
        report(&lines, Exit::Code(0)),
        AgentReport {
            ending: Ending::Completed,
            result_text: "It works.\n".into(),
            session_id: Some("s1".into()),
            model: Some("gemini-9-flash".into()),
            cost_usd: None,
            usage: Usage { input: Some(900), output: Some(12), cache_read: Some(100), cache_write: None },
            denials: vec![],
            retries: 0,
            limit: None,
            actions: vec!["write_file src/a.rs".into(), "run_shell_command cargo test".into()],
        }
    );
}

#[test]
fn a_signal_before_the_last_tool_is_not_lost() {
    let note = used("update_topic", json!({"title": "Done"}));
    let done = said("All done.\n<task-done>t-1</task-done>");
    let report = report(&[INIT, &done, &note, OK], Exit::Code(0));
    assert_eq!(report.result_text, "All done.\n<task-done>t-1</task-done>");
    assert_eq!(report.actions, ["update_topic Done"]);
}

#[test]
fn denied_tools_are_named_once() {
    let shell = used("run_shell_command", json!({"command": "ls"}));
    let edit = used("replace", json!({"file_path": "a"}));
    let made_up = used("edit_file", json!({}));
    let plan = used("enter_plan_mode", json!({}));
    let denied = report(
        &[
            INIT,
            &shell,
            &came_of("run_shell_command", Some("policy_violation")),
            &shell,
            &came_of("run_shell_command", Some("tool_not_registered")),
            &made_up,
            &came_of("edit_file", Some("tool_not_registered")),
            &edit,
            &came_of("replace", Some("edit_no_occurrence_found")),
            // From here on the agent denies itself.
            &plan,
            &came_of("enter_plan_mode", None),
            &edit,
            &came_of("replace", Some("policy_violation")),
            OK,
        ],
        Exit::Code(0),
    );
    assert_eq!(denied.denials, ["run_shell_command"]);
}

#[test]
fn odd_fields_cost_only_themselves() {
    let odd = r#"{"type":"result","timestamp":7,"status":"success","stats":{"total_tokens":"?","input_tokens":5,"cached":9,"output_tokens":-1,"models":[1]},"error":3}"#;
    let cut = r#"{"type":"message","role":"assistant","content":"cut \ud83d here","delta":1}"#;
    let lines = ["", "not json", "[]", "null", "{}", INIT, cut, odd];
    let report = report(&lines, Exit::Code(0));
    assert_eq!(report.ending, Ending::Completed);
    assert_eq!(report.result_text, "cut \u{fffd}\u{fffd}\u{fffd} here");
    assert_eq!(report.model.as_deref(), Some("flash"));
    assert_eq!((report.usage.input, report.usage.output), (Some(0), None));
}

#[test]
fn displays_get_short_clean_lines() {
    let mut stream = parser();
    let command = format!("cargo test\n{}", "x".repeat(500));
    let lines = [
        INIT.to_owned(),
        PROMPT.to_owned(),
        said("\n\u{1b}[31mred\u{7}"),
        said(" and blue\nsecond"),
        used("run_shell_command", json!({"command": command, "description": "d"})),
        used("grep_search", json!({"pattern": "fn main", "dir_path": "src"})),
        OK.to_owned(),
    ];
    let shown: Vec<Activity> = lines.iter().filter_map(|line| stream.line(line.as_bytes(), true)).collect();
    let said = |text: &str| Activity::Said { text: text.into() };
    let tool = |name: &str, target: &str| Activity::Tool { name: name.into(), target: target.into() };
    let expected = [
        Activity::Started { model: Some("flash".into()) },
        said("red"),
        said("second"),
        tool("run_shell_command", "cargo test…"),
        tool("grep_search", "fn main"),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn the_result_concludes_and_whatever_follows_goes_on() {
    let mut stream = parser();
    for line in [INIT, &said("Bye."), OK] {
        assert_eq!(stream.conclusion(), None);
        stream.line(line.as_bytes(), true);
    }
    assert_eq!(stream.conclusion(), Some("Bye."));
    stream.line(said("And").as_bytes(), true);
    assert_eq!(stream.conclusion(), None);
}

#[test]
fn what_is_kept_is_bounded() {
    let mut stream = parser();
    let piece = said(&"ä".repeat(50_000));
    for number in 0..80 {
        stream.line(piece.as_bytes(), true);
        stream.line(piece.as_bytes(), true);
        let run = used("run_shell_command", json!({"command": format!("step {number}")}));
        stream.line(run.as_bytes(), true);
    }
    for _ in 0..40 {
        stream.line(piece.as_bytes(), true);
    }
    stream.line(b"{\"type\":", false);
    let report = stream.finish(Exit::Signal(9));
    assert!(report.result_text.len() <= 256 * 1024);
    assert!(report.result_text.len() > 255 * 1024);
    assert_eq!(report.actions.len(), 36);
    let last = report.actions.last();
    assert_eq!(last.map(String::as_str), Some("run_shell_command step 79"));
    assert_eq!(
        message_of(&report),
        "gemini ended without a result (signal 9; output lines too long to read: 1)"
    );
}

#[test]
fn a_log_tells_all_that_was_said_line_by_line_before_what_was_done() {
    let mut stream = parser();
    let lines = [
        said("First li"),
        said("ne.\nSecond"),
        used("write_file", json!({"file_path": "a.rs"})),
        said("Cut off in the mid"),
    ];
    let mut told: Vec<LogEntry> =
        lines.iter().flat_map(|line| stream.entries(line.as_bytes(), true)).collect();
    told.extend(stream.rest());
    let words = |text: &str| LogEntry::Said { text: text.into() };
    assert_eq!(told.len(), 4, "{told:?}");
    assert_eq!(told[..2], [words("First line."), words("Second")]);
    assert!(matches!(told[2], LogEntry::Did(Activity::Tool { .. })));
    assert_eq!(told[3], words("Cut off in the mid"));
}

fn notice(severity: &str, message: &str) -> String {
    json!({"type": "error", "severity": severity, "message": message}).to_string()
}

/// A result with an error object and nothing counted.
fn failed(kind: &str, message: &str) -> String {
    json!({"type": "result", "timestamp": "2026-01-02T03:04:05.250Z", "status": "error",
        "error": {"type": kind, "message": message},
        "stats": {"total_tokens": 0, "input_tokens": 0, "output_tokens": 0, "cached": 0, "input": 0,
            "models": {"gemini-9-flash": {"total_tokens": 0}}}})
    .to_string()
}

/// A result that is no success and does not say why.
fn mute() -> String {
    OK.replace("success", "error")
}

#[test]
fn only_a_successful_result_is_a_success() {
    let half = said("<task-done>t-1</task-done>");
    let ended = |last: &[&str], exit| {
        let lines: Vec<&str> = [INIT, &half].into_iter().chain(last.iter().copied()).collect();
        let report = report(&lines, exit);
        assert_eq!(fault_of(&report), Some(Fault::Crash), "{last:?}");
        message_of(&report).to_owned()
    };
    // Told to end, it exits 0 and says nothing.
    let mute = mute();
    assert_eq!(ended(&[], Exit::Code(0)), "gemini ended without a result (exit code 0)");
    assert_eq!(ended(&[&mute], Exit::Code(0)), "gemini ended without a successful result (exit code 0)");
    let looping = notice("warning", "Loop detected, stopping execution");
    assert_eq!(ended(&[&looping, OK], Exit::Code(0)), "Loop detected, stopping execution");
    let turns = notice("error", "Maximum session turns exceeded");
    assert_eq!(ended(&[&turns, OK], Exit::Code(0)), "Maximum session turns exceeded");
    // Other warnings are no end, and what is overcome is none either.
    let warned = notice("warning", "Agent execution blocked: a hook");
    let overcome = [INIT, &warned, &looping, &half, OK];
    assert_eq!(report(&overcome, Exit::Code(0)).ending, Ending::Completed);
}

#[test]
fn what_did_not_end_well_has_all_that_was_said() {
    let tool = used("glob", json!({"pattern": "**/*.rs"}));
    let error = failed("FatalTurnLimitedError", "Reached max session turns");
    let report = report(&[INIT, &said("one"), &tool, &said("two"), &error], Exit::Code(53));
    assert_eq!(report.result_text, "one\ntwo");
    assert_eq!(fault_of(&report), Some(Fault::Crash));
    assert_eq!(message_of(&report), "Reached max session turns");
}

#[test]
fn prose_is_no_evidence() {
    let prose = "[API Error: {\"error\":{\"code\":429}}] 401, overloaded, fetch failed, not found";
    let output = used("run_shell_command", json!({"command": prose}));
    let lines = [INIT, &output, &said(prose), OK];
    let completed = report(&lines, Exit::Code(145));
    assert_eq!(completed.ending, Ending::Completed);
    assert_eq!(completed.result_text, prose);
    let ended = report(&lines[..3], Exit::Code(145));
    assert_eq!(fault_of(&ended), Some(Fault::Crash));
}
