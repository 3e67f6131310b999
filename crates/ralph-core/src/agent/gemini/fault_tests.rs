//! Sessions that did not end well, modelled on recorded ones.

use serde_json::json;

use super::super::{Ending, Exit, Fault, Usage};
use super::stream_tests::{INIT, OK, fault_of, message_of, report, said, used};

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
        let lines: Vec<&str> = [INIT, &half]
            .into_iter()
            .chain(last.iter().copied())
            .collect();
        let report = report(&lines, exit);
        assert_eq!(fault_of(&report), Some(Fault::Crash), "{last:?}");
        message_of(&report).to_owned()
    };
    // Told to end, it exits 0 and says nothing.
    let mute = mute();
    assert_eq!(
        ended(&[], Exit::Code(0)),
        "gemini ended without a result (exit code 0)"
    );
    assert_eq!(
        ended(&[&mute], Exit::Code(0)),
        "gemini ended without a successful result (exit code 0)"
    );
    let looping = notice("warning", "Loop detected, stopping execution");
    assert_eq!(
        ended(&[&looping, OK], Exit::Code(0)),
        "Loop detected, stopping execution"
    );
    let turns = notice("error", "Maximum session turns exceeded");
    assert_eq!(
        ended(&[&turns, OK], Exit::Code(0)),
        "Maximum session turns exceeded"
    );
    // Other warnings are no end, and what is overcome is none either.
    let warned = notice("warning", "Agent execution blocked: a hook");
    let overcome = [INIT, &warned, &looping, &half, OK];
    assert_eq!(report(&overcome, Exit::Code(0)).ending, Ending::Completed);
}

#[test]
fn what_did_not_end_well_has_all_that_was_said() {
    let tool = used("glob", json!({"pattern": "**/*.rs"}));
    let error = failed("FatalTurnLimitedError", "Reached max session turns");
    let report = report(
        &[INIT, &said("one"), &tool, &said("two"), &error],
        Exit::Code(53),
    );
    assert_eq!(report.result_text, "one\ntwo");
    assert_eq!(fault_of(&report), Some(Fault::Crash));
    assert_eq!(message_of(&report), "Reached max session turns");
}

#[test]
fn faults_have_their_class() {
    let json =
        |code: u16| format!(r#"[API Error: {{"error":{{"code":{code},"message":"told"}}}}]"#);
    let cases = [
        ("unknown", json(400), 144, Fault::Crash, "told (400)"),
        ("unknown", json(401), 145, Fault::Auth, "told (401)"),
        ("unknown", json(404), 148, Fault::Config, "told (404)"),
        ("unknown", json(500), 244, Fault::Overloaded, "told (500)"),
        (
            "unknown",
            "[API Error: told]".into(),
            247,
            Fault::Overloaded,
            "told",
        ),
        (
            "unknown",
            "[API Error: told]".into(),
            1,
            Fault::Crash,
            "told",
        ),
        (
            "unknown",
            "[API Error: terminated]".into(),
            1,
            Fault::Network,
            "terminated",
        ),
        (
            "unknown",
            "[API Error: x is not found]".into(),
            1,
            Fault::Config,
            "x is not found",
        ),
        (
            "FatalInputError",
            "[API Error: a is not found]".into(),
            42,
            Fault::Crash,
            "[API Error: a is not found]",
        ),
        (
            "FatalAuthenticationError",
            "log in".into(),
            41,
            Fault::Auth,
            "log in",
        ),
        (
            "no_space_left",
            "Error executing tool".into(),
            54,
            Fault::Crash,
            "Error executing tool",
        ),
    ];
    for (kind, message, code, expected, told) in cases {
        let whole = report(&[INIT, &failed(kind, &message)], Exit::Code(code));
        assert_eq!(fault_of(&whole), Some(expected), "{kind} {message}");
        assert_eq!(message_of(&whole), told);
        assert_eq!(whole.usage, Usage::default());
        assert_eq!(whole.model.as_deref(), Some("flash"));
    }
    let cut = notice("error", "Model stream ended without a finish reason.");
    let cut = report(&[INIT, &said("Half"), &cut, &mute()], Exit::Code(0));
    assert_eq!(fault_of(&cut), Some(Fault::Network));
    assert_eq!(cut.usage.input, Some(900));
    let blocked = notice(
        "error",
        "The model response was blocked due to safety settings.",
    );
    let blocked = report(&[INIT, &blocked, &mute()], Exit::Code(0));
    assert_eq!(fault_of(&blocked), Some(Fault::Crash));
}

#[test]
fn a_limit_tells_when_it_is_over() {
    let limited = |words: &str| {
        let message = format!("[API Error: {words}]\nPlease wait and try again later. And so on");
        let report = report(&[INIT, &failed("unknown", &message)], Exit::Code(173));
        match report.ending {
            Ending::Completed => panic!("completed"),
            Ending::Faulted {
                fault, resets_at, ..
            } => (fault, resets_at),
        }
    };
    // 2026-01-02T03:04:05.250Z and two seconds, rounded up.
    let over = Some(1_767_323_048);
    assert_eq!(
        limited("Quota.\nSuggested retry after 2s."),
        (Fault::RateLimit, over)
    );
    assert_eq!(limited("Quota."), (Fault::RateLimit, None));
}

#[test]
fn without_an_event_the_exit_code_is_the_programs_only_word() {
    let keyless = report(&[], Exit::Code(41));
    assert_eq!(fault_of(&keyless), Some(Fault::Auth));
    assert_eq!(
        message_of(&keyless),
        "gemini found no usable credentials (exit code 41)"
    );
    assert_eq!(
        fault_of(&report(&["not json"], Exit::Code(55))),
        Some(Fault::Permission)
    );
    assert_eq!(
        fault_of(&report(&[INIT], Exit::Code(41))),
        Some(Fault::Crash)
    );
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
