//! Errors of the service, of the way to it, and of the set-up.

use serde_json::json;

use super::{ALONE, PATIENT, stage};
use crate::model_server::Reply;
use crate::stage::{Stage, done};
use crate::support::Project;

/// A fault of the set-up stops the run at once and says what to do.
#[track_caller]
fn expect_stop(stage: &Stage, error_type: &str, remedy: &str) {
    let output = stage.run(1);
    assert!(output.stderr.contains(remedy), "{}", output.stderr);
    let line = format!("error {error_type} uncounted #1");
    assert_eq!(stage.tries(), [line.as_str()]);
    stage.expect_untouched_task();
    stage.expect_no_process();
    let attempt = stage.project.history().remove(0);
    assert!(attempt["cost_usd"].is_null(), "{attempt}");
    assert!(attempt["session_id"].is_string(), "{attempt}");
}

#[test]
fn out_07_codex_401_is_auth_and_stops_the_run() {
    let stage = stage(|_| Reply::error(401));
    expect_stop(&stage, "auth", "log in to codex");
    let attempt = stage.project.history().remove(0);
    let message = attempt["message"].as_str().unwrap();
    assert!(message.contains("401 Unauthorized: wrong API key"), "{message}");
}

#[test]
fn out_07_codex_no_key_at_all_is_auth() {
    let stage = stage(done).without_env("RALPH_TEST_KEY");
    expect_stop(&stage, "auth", "log in to codex");
    assert!(stage.model.requests().is_empty());
}

#[test]
fn out_07_codex_404_is_config_and_stops_the_run() {
    expect_stop(&stage(|_| Reply::error(404)), "config", "check the model's name");
}

#[test]
fn out_07_codex_a_model_that_the_account_may_not_use_is_config() {
    let detail = "The 'm' model is not supported when using Codex with a ChatGPT account.";
    let stage = stage(move |_| Reply::Refusal { status: 400, body: json!({"detail": detail}) });
    expect_stop(&stage, "config", detail);
}

#[test]
fn out_10_codex_400_is_the_agents_fault_and_counts() {
    let stage = stage(|request| match request.session {
        1 => Reply::error(400),
        _ => done(request),
    });
    stage.run(0);
    assert_eq!(stage.tries(), ["error crash counted #1", "done counted #2"]);
    stage.expect_status(1, 0, 2);
    assert_eq!(stage.project.history()[0]["message"], "bad request");
}

/// A service that stays bad is tried again once, as set, and then the run stops.
#[track_caller]
fn expect_bounded_retries(stage: &Stage, error_type: &str) {
    let output = stage.run(1);
    assert!(output.stderr.contains("failed 2 times in a row"), "{}", output.stderr);
    let line = format!("error {error_type} uncounted #1");
    assert_eq!(stage.tries(), [line.as_str(), line.as_str()]);
    stage.expect_untouched_task();
    stage.expect_no_process();
}

#[test]
fn out_06_codex_529_backs_off_a_bounded_number_of_times() {
    let stage = Stage::with(&PATIENT, Project::new(), |_| Reply::error(529));
    expect_bounded_retries(&stage, "overloaded");
    let asked = stage.model.requests().len();
    assert_eq!(asked, 4, "the agent tries again itself");
    let attempt = stage.project.history().remove(0);
    assert_eq!(attempt["service_retries"], 1, "{attempt}");
}

#[test]
fn out_06_codex_500_backs_off_a_bounded_number_of_times() {
    expect_bounded_retries(&stage(|_| Reply::error(500)), "overloaded");
}

#[test]
fn out_06_codex_a_refused_connection_is_network() {
    let stage = Stage::with(&ALONE, Project::new(), done);
    expect_bounded_retries(&stage, "network");
    assert!(stage.model.requests().is_empty());
}

#[test]
fn out_06_codex_a_cut_connection_is_network() {
    expect_bounded_retries(&stage(|_| Reply::CutMidStream), "network");
}

#[test]
fn out_06_codex_an_overload_in_the_stream_is_waited_out() {
    let stage = stage(|request| match request.session {
        1 => Reply::Overload,
        _ => done(request),
    });
    stage.run(0);
    let tries = stage.tries();
    assert_eq!(tries, ["error overloaded uncounted #1", "done counted #1"]);
    stage.expect_status(1, 0, 1);
}
