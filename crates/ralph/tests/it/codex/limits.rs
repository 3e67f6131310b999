//! Usage and rate limits.

use std::time::{SystemTime, UNIX_EPOCH};

use rustix::process::Signal;
use serde_json::json;

use super::{CODEX, stage};
use crate::model_server::Reply;
use crate::stage::{Stage, done, end_by};
use crate::support::Project;

/// 429 as an account gets it that has used up what its plan allows.
fn used_up(resets_at: i64) -> Reply {
    Reply::Refusal {
        status: 429,
        body: json!({"error": {"type": "usage_limit_reached", "message": "The usage limit has been reached",
            "plan_type": "pro", "resets_at": resets_at}}),
    }
}

fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(now.as_secs()).unwrap()
}

#[test]
fn out_05_codex_429_without_a_reset_time_is_backed_off_from() {
    let stage = stage(|request| match request.session {
        1 | 2 => Reply::error(429),
        _ => done(request),
    });
    let events = stage.project.ok(&["run", "--json"]).json_lines();
    let waits = events.iter().filter(|event| event["type"] == "waiting");
    assert_eq!(waits.count(), 2);
    let limited = "error rate_limit uncounted #1";
    assert_eq!(stage.tries(), [limited, limited, "done counted #1"]);
    stage.expect_status(1, 0, 1);
    stage.expect_no_process();
    let attempt = stage.project.history().remove(0);
    assert!(attempt["cost_usd"].is_null(), "{attempt}");
}

#[test]
fn out_05_codex_a_limit_that_is_over_already_is_backed_off_from() {
    let stage = stage(|request| match request.session {
        1 => used_up(now() - 90),
        _ => done(request),
    });
    stage.run(0);
    assert_eq!(stage.tries(), ["error rate_limit uncounted #1", "done counted #1"]);
    stage.expect_status(1, 0, 1);
}

#[test]
fn out_05_codex_a_limit_is_waited_out_until_the_minute_that_was_told_is_over() {
    // Today or on a later day, by the clock of wherever that is.
    for (ahead, zone) in [(3600, "EST5"), (3 * 86_400, "JST-9")] {
        let resets_at = now() + ahead;
        let mut project = Project::new();
        project.set_env("TZ", zone);
        let stage =
            Stage::with(&CODEX, project, move |_| used_up(resets_at)).run_setting("max_wait = \"100h\"");
        let waits = || stage.number("SELECT count(*) FROM run_events WHERE type = 'waiting'");
        let ralph = stage.start_until("the run waits", || waits() == 1);
        stage.expect_untouched_task();
        stage.expect_no_process();
        let until = "SELECT unixepoch(until) FROM agent_limits WHERE agent = 'codex'";
        assert_eq!(stage.number(until), (resets_at / 60 + 1) * 60);
        assert_eq!(end_by(ralph, Signal::TERM), Some(143));
        assert_eq!(stage.tries(), ["error rate_limit uncounted #1"]);
    }
}
