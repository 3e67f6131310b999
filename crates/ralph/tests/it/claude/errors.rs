//! Errors of the service, of the way to it, and of the set-up.

use std::net::{TcpListener, TcpStream};

use serde_json::json;

use crate::model_server::Reply;
use crate::stage::{Stage, bash, done};

#[test]
fn out_07_401_is_auth_and_stops_the_run() {
    let stage = Stage::new(|_| Reply::error(401));
    let output = stage.run(1);
    assert!(output.stderr.contains("log in to claude"), "{}", output.stderr);
    assert_eq!(stage.tries(), ["error auth uncounted #1"]);
    stage.expect_untouched_task();
    let attempt = stage.project.history().remove(0);
    assert!(attempt["session_id"].is_string(), "{attempt}");
    let message = attempt["message"].as_str().unwrap();
    assert!(message.contains("Invalid API key"), "{message}");
}

#[test]
fn out_07_no_key_at_all_is_auth() {
    let stage = Stage::new(done).without_env("ANTHROPIC_API_KEY");
    let output = stage.run(1);
    assert!(output.stderr.contains("log in to claude"), "{}", output.stderr);
    assert_eq!(stage.tries(), ["error auth uncounted #1"]);
    stage.expect_untouched_task();
    assert!(stage.model.requests().is_empty());
}

#[test]
fn out_07_404_is_config_and_stops_the_run() {
    let stage = Stage::new(|_| Reply::error(404));
    let output = stage.run(1);
    assert!(output.stderr.contains("check the model's name"), "{}", output.stderr);
    assert_eq!(stage.tries(), ["error config uncounted #1"]);
    stage.expect_untouched_task();
}

#[test]
fn out_10_400_is_the_agents_fault_and_counts() {
    let stage = Stage::new(|request| match request.session {
        1 => Reply::error(400),
        _ => done(request),
    });
    stage.run(0);
    assert_eq!(stage.tries(), ["error crash counted #1", "done counted #2"]);
    stage.expect_status(1, 0, 2);
}

#[test]
fn out_04_a_turn_limit_is_a_counted_crash() {
    let stage = Stage::new(|_| bash("echo busy")).env("CLAUDE_CODE_MAX_TURNS", "1");
    stage.run_once_in_vain();
    assert_eq!(stage.tries(), ["error crash counted #1"]);
    stage.expect_status(0, 1, 1);
    let attempt = stage.project.history().remove(0);
    assert!(attempt["cost_usd"].as_f64().unwrap() > 0.0, "{attempt}");
    assert_eq!(attempt["tokens_input"], 1000, "{attempt}");
    let reports = "SELECT count(*) FROM failure_reports WHERE auto = 1";
    assert_eq!(stage.number(reports), 1);
}

/// A service that stays bad is tried again once, as set, and then the run stops.
#[track_caller]
fn expect_bounded_retries(stage: &Stage, error_type: &str) {
    let output = stage.run(1);
    assert!(output.stderr.contains("failed 2 times in a row"), "{}", output.stderr);
    let line = format!("error {error_type} uncounted #1");
    assert_eq!(stage.tries(), [line.as_str(), line.as_str()]);
    stage.expect_untouched_task();
}

#[test]
fn out_06_529_backs_off_a_bounded_number_of_times() {
    let stage = Stage::new(|_| Reply::error(529)).env("CLAUDE_CODE_MAX_RETRIES", "1");
    expect_bounded_retries(&stage, "overloaded");
    assert_eq!(stage.model.requests().len(), 4, "the agent tries again itself");
    let attempt = stage.project.history().remove(0);
    assert_eq!(attempt["service_retries"], 1, "{attempt}");
}

#[test]
fn out_06_500_backs_off_a_bounded_number_of_times() {
    expect_bounded_retries(&Stage::new(|_| Reply::error(500)), "overloaded");
}

#[test]
fn out_06_a_refused_connection_is_network() {
    // The port of a connection's own end is in use, and nobody listens there.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let connection = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let nobody = format!("http://{}", connection.local_addr().unwrap());
    let stage = Stage::new(done).env("ANTHROPIC_BASE_URL", &nobody);
    expect_bounded_retries(&stage, "network");
    assert!(stage.model.requests().is_empty());
}

#[test]
fn out_06_a_cut_connection_is_network() {
    let stage = Stage::new(|_| Reply::CutMidStream);
    expect_bounded_retries(&stage, "network");
}

#[test]
fn out_06_an_overload_in_the_stream_is_waited_out() {
    let stage = Stage::new(|request| match request.session {
        // Claude Code asks once more without a stream.
        1 if request.body["stream"] == true => Reply::Overload,
        1 => Reply::error(529),
        _ => done(request),
    });
    stage.run(0);
    let tries = stage.tries();
    assert_eq!(tries, ["error overloaded uncounted #1", "done counted #1"]);
    stage.expect_status(1, 0, 1);
}

#[test]
fn out_07_a_denied_tool_stops_the_run_when_the_task_is_not_done() {
    let stage = Stage::new(|request| match request.after_tool {
        false => bash("touch made-by-tool"),
        true => Reply::text("I was not allowed to."),
    })
    .agent_setting("skip_permissions = false");
    let output = stage.run(1);
    assert!(output.stderr.contains("denied permission: Bash"), "{}", output.stderr);
    assert!(output.stderr.contains("skip_permissions"), "{}", output.stderr);
    assert_eq!(stage.tries(), ["error permission uncounted #1"]);
    stage.expect_untouched_task();
    let attempt = stage.project.history().remove(0);
    assert_eq!(attempt["denials"], json!(["Bash"]));
    assert!(attempt["cost_usd"].as_f64().unwrap() > 0.0, "{attempt}");
    assert!(!stage.project.path("made-by-tool").exists());
}

#[test]
fn out_07_a_denied_tool_does_not_matter_when_the_task_is_done() {
    let stage = Stage::new(|request| match request.after_tool {
        false => bash("touch made-by-tool"),
        true => done(request),
    })
    .agent_setting("skip_permissions = false");
    stage.run(0);
    assert_eq!(stage.tries(), ["done counted #1"]);
    assert_eq!(stage.project.history()[0]["denials"], json!(["Bash"]));
}
