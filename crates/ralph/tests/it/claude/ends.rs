//! Sessions that do not end by themselves, and what is left of them.

use rustix::process::Signal;
use serde_json::json;

use crate::model_server::Reply;
use crate::stage::{Stage, bash, done, end_by};
use crate::support::eventually;

/// A tool that is at work until it is ended; `started` says that it is.
const AT_WORK: &str = "touch started; tail -f /dev/null";

#[test]
fn out_04_a_hang_in_the_middle_of_an_answer_is_an_idle_timeout() {
    let stage = Stage::new(|_| Reply::HangMidStream).run_setting("idle_timeout = 12");
    stage.run_once_in_vain();
    assert_eq!(stage.tries(), ["error idle_timeout counted #1"]);
    stage.expect_status(0, 1, 1);
    stage.expect_no_process();
    assert_eq!(stage.model.requests().len(), 1);
    let attempt = stage.project.history().remove(0);
    assert!(attempt["cost_usd"].is_null(), "{attempt}");
    assert!(attempt["tokens_input"].is_null(), "{attempt}");
    assert!(attempt["session_id"].is_string(), "{attempt}");
}

#[track_caller]
fn expect_interrupted_in_mid_stream(signal: Signal, code: i32) {
    let stage = Stage::new(|_| Reply::HangMidStream);
    let ralph = stage.start_until("the model is asked", || !stage.model.requests().is_empty());
    assert!(!stage.processes().is_empty());
    assert_eq!(end_by(ralph, signal), Some(code));
    stage.expect_no_process();
    assert_eq!(stage.tries(), ["error interrupted uncounted #1"]);
    stage.expect_untouched_task();
    let attempt = stage.project.history().remove(0);
    assert!(attempt["cost_usd"].is_null(), "{attempt}");
}

#[test]
fn exit_04_out_08_term_ends_a_hanging_attempt_in_order() {
    expect_interrupted_in_mid_stream(Signal::TERM, 143);
}

#[test]
fn exit_04_out_08_int_ends_a_hanging_attempt_in_order() {
    expect_interrupted_in_mid_stream(Signal::INT, 130);
}

#[test]
fn exit_04_term_ends_a_tool_at_work_too() {
    let stage = Stage::new(|_| bash(AT_WORK));
    let started = stage.project.path("started");
    let ralph = stage.start_until("the tool is at work", || started.exists());
    assert_eq!(end_by(ralph, Signal::TERM), Some(143));
    stage.expect_no_process();
    assert_eq!(stage.tries(), ["error interrupted uncounted #1"]);
    stage.expect_untouched_task();
    // It still told what it had cost so far.
    let attempt = stage.project.history().remove(0);
    let cost = attempt["cost_usd"].as_f64();
    assert!(cost.is_some_and(|cost| cost > 0.0), "{attempt}");
}

#[test]
fn a_killed_ralph_takes_agent_and_tool_along_and_the_next_run_finishes() {
    let stage = Stage::new(|request| match request.session {
        1 => bash(AT_WORK),
        _ => done(request),
    });
    let started = stage.project.path("started");
    let ralph = stage.start_until("the tool is at work", || started.exists());
    assert_eq!(end_by(ralph, Signal::KILL), None);
    eventually("agent and tool end", || stage.processes().is_empty());

    stage.run(0);
    assert_eq!(stage.tries(), ["error lost uncounted #1", "done counted #1"]);
    stage.expect_status(1, 0, 1);
    let history = stage.project.history();
    assert!(history[0]["session_id"].is_string(), "{}", history[0]);
    assert!(history[0]["cost_usd"].is_null(), "{}", history[0]);
    assert_ne!(history[0]["run_id"], history[1]["run_id"]);
}

#[test]
fn what_a_tool_leaves_in_the_background_is_swept_after_a_normal_end() {
    let leave = "nohup setsid tail -f /dev/null >/dev/null 2>&1 & touch started";
    let stage = Stage::new(move |request| match request.after_tool {
        false => bash(leave),
        true => done(request),
    });
    stage.run(0);
    stage.expect_no_process();
    assert!(stage.project.path("started").exists());
    assert_eq!(stage.tries(), ["done counted #1"]);
    let warning = "SELECT json FROM run_events WHERE type = 'warning'";
    let warning = stage.maybe_text(warning).unwrap();
    assert!(warning.contains("killed 1 process"), "{warning}");
}

#[test]
fn out_01_a_result_counts_though_the_agent_then_lingers_for_a_background_task() {
    // Claude Code gives its result and stays up to ten minutes for what it runs in the background.
    let serve = json!({"command": AT_WORK, "description": "Serve", "run_in_background": true});
    let stage = Stage::new(move |request| match request.after_tool {
        false => Reply::tool("Bash", serve.clone()),
        true => done(request),
    })
    .run_setting("idle_timeout = 12");
    stage.project.ok(&["run", "--once"]);
    stage.expect_no_process();
    assert_eq!(stage.tries(), ["done counted #1"]);
}
