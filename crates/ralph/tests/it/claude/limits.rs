//! Usage and rate limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::Signal;

use crate::model_server::Reply;
use crate::stage::{Stage, done, end_by};

/// 429 as a subscription gets it whose five hours are used up.
fn used_up(resets_at: u64) -> Reply {
    let header = |name: &str, value: &str| {
        let name = format!("anthropic-ratelimit-unified-{name}");
        (name, value.to_owned())
    };
    let reset = resets_at.to_string();
    Reply::Error {
        status: 429,
        headers: vec![
            header("status", "rejected"),
            header("reset", &reset),
            header("representative-claim", "five_hour"),
            header("5h-status", "rejected"),
            header("5h-reset", &reset),
            header("5h-utilization", "1.0"),
            header("overage-status", "rejected"),
            header("overage-disabled-reason", "org_level_disabled"),
        ],
    }
}

fn in_seconds(seconds: u64) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    (now + Duration::from_secs(seconds)).as_secs()
}

/// The model uses the shell for ever.
fn busy(_: &crate::model_server::Request) -> Reply {
    crate::stage::bash("true")
}

#[test]
fn exit_02_what_is_left_of_the_budget_is_passed_on_and_holds_headless() {
    let stage = Stage::new(busy).run_setting("max_cost_usd = 0.01");
    let output = stage.run(4);
    let reached = "the cost limit of $0.01 was reached";
    assert!(output.stdout.contains(reached), "{}", output.stdout);
    // Claude Code minded the budget itself: that is nobody's fault.
    assert_eq!(stage.tries(), ["error interrupted uncounted #1"]);
    let attempt = stage.project.history().remove(0);
    let cost = attempt["cost_usd"].as_f64().unwrap();
    assert!((0.01..0.1).contains(&cost), "{attempt}");
    stage.expect_untouched_task();
    stage.expect_no_process();
}

#[test]
fn out_05_429_without_a_reset_time_is_backed_off_from() {
    let stage = Stage::new(|request| match request.session {
        1 | 2 => Reply::error(429),
        _ => done(request),
    });
    let events = stage.project.ok(&["run", "--json"]).json_lines();
    let waits = events.iter().filter(|event| event["type"] == "waiting");
    assert_eq!(waits.count(), 2);
    let limited = "error rate_limit uncounted #1";
    assert_eq!(stage.tries(), [limited, limited, "done counted #1"]);
    stage.expect_status(1, 0, 1);
    let reports = "SELECT count(*) FROM failure_reports";
    assert_eq!(stage.number(reports), 0);
    // The retry is the same attempt for the agent.
    assert_eq!(stage.model.requests()[0]["messages"], stage.model.requests()[2]["messages"]);
}

#[test]
fn out_05_a_limit_with_a_reset_time_is_waited_out_until_then() {
    let reset = Arc::new(AtomicU64::new(0));
    let told = Arc::clone(&reset);
    let stage = Stage::new(move |request| match request.session {
        1 => {
            told.store(in_seconds(3), Ordering::SeqCst);
            used_up(told.load(Ordering::SeqCst))
        }
        _ => done(request),
    })
    .with_subscription();
    stage.run(0);
    assert_eq!(stage.tries(), ["error rate_limit uncounted #1", "done counted #1"]);
    stage.expect_status(1, 0, 1);
    let reset = i64::try_from(reset.load(Ordering::SeqCst)).unwrap();
    let remembered = "SELECT unixepoch(until) FROM agent_limits WHERE agent = 'claude'";
    assert_eq!(stage.number(remembered), reset);
    let second = "SELECT unixepoch(started_at) FROM iteration_outcomes WHERE attempt_number = 2";
    assert!(stage.number(second) >= reset);
}

#[test]
fn out_05_a_limit_is_remembered_by_the_next_run_and_the_claim_is_free_meanwhile() {
    let stage = Stage::new(|_| used_up(in_seconds(3600))).with_subscription();
    let waits = || stage.number("SELECT count(*) FROM run_events WHERE type = 'waiting'");
    let first = stage.start_until("the run waits", || waits() == 1);
    stage.expect_untouched_task();
    stage.expect_no_process();
    assert_eq!(end_by(first, Signal::TERM), Some(143));

    let asked = stage.model.requests().len();
    let second = stage.start_until("the next run waits too", || waits() == 2);
    assert_eq!(end_by(second, Signal::INT), Some(130));
    assert_eq!(stage.model.requests().len(), asked);
    assert_eq!(stage.tries(), ["error rate_limit uncounted #1"]);
    stage.expect_untouched_task();
}

#[test]
fn out_06_a_limit_before_it_does_not_use_up_the_retries_of_an_unavailable_service() {
    let stage = Stage::new(|request| match request.session {
        1 | 2 => Reply::error(429),
        3 => Reply::error(529),
        _ => done(request),
    });
    stage.run(0);
    assert_eq!(
        stage.tries(),
        [
            "error rate_limit uncounted #1",
            "error rate_limit uncounted #1",
            "error overloaded uncounted #1",
            "done counted #1",
        ]
    );
}
