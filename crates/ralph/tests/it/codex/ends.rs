//! Sessions that do not end by themselves, and what is left of them.

use rustix::process::{Pid, Signal, kill_process};

use super::{shell, stage};
use crate::model_server::Reply;
use crate::stage::{Stage, done, end_by};
use crate::support::eventually;

/// A tool that is at work until it is ended; `started` says that it is.
const AT_WORK: &str = "touch started; tail -f /dev/null";
/// One that does not end when it is asked to.
const STUBBORN: &str = "trap '' TERM INT HUP; touch started; while :; do sleep 1; done";

#[track_caller]
fn expect_idle_timeout(reply: Reply) {
    let stage = stage(move |_| reply.clone()).run_setting("idle_timeout = 12");
    stage.run_once_in_vain();
    assert_eq!(stage.tries(), ["error idle_timeout counted #1"]);
    stage.expect_status(0, 1, 1);
    stage.expect_no_process();
    let attempt = stage.project.history().remove(0);
    assert!(attempt["cost_usd"].is_null(), "{attempt}");
    assert!(attempt["tokens_input"].is_null(), "{attempt}");
    assert!(attempt["session_id"].is_string(), "{attempt}");
}

#[test]
fn out_04_codex_a_hang_in_the_middle_of_an_answer_is_an_idle_timeout() {
    expect_idle_timeout(Reply::HangMidStream);
}

#[test]
fn out_04_codex_no_answer_at_all_is_an_idle_timeout() {
    expect_idle_timeout(Reply::Hang);
}

#[track_caller]
fn expect_killed_in_time(tool: &'static str) {
    let stage = stage(move |_| shell(tool)).run_setting("attempt_timeout = 20").run_setting("grace = 1");
    stage.run_once_in_vain();
    assert_eq!(stage.tries(), ["error timeout counted #1"]);
    assert!(stage.project.path("started").exists());
    stage.expect_no_process();
}

#[test]
fn out_04_codex_an_attempt_that_takes_too_long_leaves_nothing() {
    expect_killed_in_time(AT_WORK);
}

#[test]
fn out_04_codex_a_tool_that_minds_no_signal_is_ended_too() {
    expect_killed_in_time(STUBBORN);
}

#[track_caller]
fn expect_interrupted(stage: &Stage, signal: Signal, code: i32) {
    let started = stage.project.path("started");
    let ralph = stage.start_until("the tool is at work", || started.exists());
    assert!(!stage.processes().is_empty());
    assert_eq!(end_by(ralph, signal), Some(code));
    stage.expect_no_process();
    assert_eq!(stage.tries(), ["error interrupted uncounted #1"]);
    stage.expect_untouched_task();
    let attempt = stage.project.history().remove(0);
    assert!(attempt["cost_usd"].is_null(), "{attempt}");
}

#[test]
fn exit_04_codex_term_ends_a_tool_at_work_too() {
    expect_interrupted(&stage(|_| shell(AT_WORK)), Signal::TERM, 143);
}

#[test]
fn exit_04_codex_int_ends_a_tool_at_work_too() {
    expect_interrupted(&stage(|_| shell(AT_WORK)), Signal::INT, 130);
}

#[test]
fn codex_a_killed_ralph_takes_agent_and_tool_along_and_the_next_run_finishes() {
    let stage = stage(|request| match request.session {
        1 => shell(AT_WORK),
        _ => done(request),
    });
    let started = stage.project.path("started");
    let ralph = stage.start_until("the tool is at work", || started.exists());
    assert_eq!(end_by(ralph, Signal::KILL), None);
    eventually("agent and tool end", || stage.processes().is_empty());

    stage.run(0);
    assert_eq!(stage.tries(), ["error lost uncounted #1", "done counted #1"]);
    let history = stage.project.history();
    assert!(history[0]["session_id"].is_string(), "{}", history[0]);
}

/// The program that npm installs only starts another one, which is an orphan when the first is killed.
#[test]
fn codex_killed_by_somebody_else_leaves_nothing_and_is_tried_again() {
    let stage = stage(|request| match request.session {
        1 => shell(AT_WORK),
        _ => done(request),
    });
    let started = stage.project.path("started");
    let mut ralph = stage.start_until("the tool is at work", || started.exists());
    let agent = stage
        .processes()
        .into_iter()
        // Ralph's guard starts it.
        .find(|pid| parent(*pid).and_then(parent) == Some(ralph.id().cast_signed()));
    let agent = Pid::from_raw(agent.unwrap()).unwrap();
    kill_process(agent, Signal::KILL).unwrap();
    assert_eq!(ralph.wait().unwrap().code(), Some(0));
    stage.expect_no_process();
    assert_eq!(stage.tries(), ["error crash counted #1", "done counted #2"]);
}

fn parent(pid: i32) -> Option<i32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:\t"))?;
    line.parse().ok()
}

#[test]
fn codex_what_a_tool_leaves_in_the_background_is_swept_after_a_normal_end() {
    let leave = "nohup setsid tail -f /dev/null >/dev/null 2>&1 & touch started";
    let stage = stage(move |request| match request.after_tool {
        false => shell(leave),
        true => done(request),
    });
    stage.run(0);
    stage.expect_no_process();
    assert!(stage.project.path("started").exists());
    assert_eq!(stage.tries(), ["done counted #1"]);
}
