//! Agents that stand in for one that is limited or out of order.

use std::time::Instant;

use crate::streams::{DONE_TEXT, done, error, limit, project, said, speaker, tries};
use crate::support::PATIENCE;

#[test]
fn out_05_another_agent_goes_on_while_the_first_is_limited() {
    let project = project(&limit(3600), "fallback = [\"second\"]");
    speaker(&project, "second", &done(0.25));
    project.add(&["A"]);
    project.add(&["B"]);
    let events = project.ok(&["run", "--json"]).json_lines();
    assert_eq!(tries(&project), ["main error rate_limit", "second done", "second done"]);
    let changed: Vec<_> = events.iter().filter(|event| event["type"] == "agent_changed").collect();
    assert_eq!(changed.len(), 1);
    assert_eq!(changed[0]["agent"], "second");
    assert!(!events.iter().any(|event| event["type"] == "waiting"));
    // The limit is remembered: the next run does not ask the first one again.
    project.add(&["C"]);
    project.ok(&["run"]);
    assert_eq!(tries(&project).last().unwrap(), "second done");
}

#[test]
fn out_05_the_first_agent_comes_back_when_its_limit_is_over() {
    let script = format!("if [ -e met ]; then {}; else touch met; {}; fi", done(0.1), limit(2));
    let project = project(&script, "fallback = [\"second\"]");
    speaker(&project, "second", &format!("sleep 2.5; {}", done(0.1)));
    project.add(&["A"]);
    project.add(&["B"]);
    project.ok(&["run"]);
    assert_eq!(tries(&project), ["main error rate_limit", "second done", "main done"]);
}

#[test]
fn out_07_a_broken_set_up_is_told_and_another_agent_goes_on() {
    let project = project(&error(401), "");
    project.configure("[agents.main.env]\nX = \"1\"");
    // The agent's own list, where [run] has none.
    let toml = project.read(".ralph.toml");
    let toml = toml.replace("[agents.main]", "[agents.main]\nfallback = [\"second\"]");
    project.write(".ralph.toml", &toml);
    speaker(&project, "second", &done(0.1));
    project.add(&["A"]);
    let run = project.ok(&["run"]);
    assert!(run.stdout.contains("log in to main"), "{}", run.stdout);
    assert_eq!(tries(&project), ["main error auth", "second done"]);
}

#[test]
fn out_07_when_nobody_is_left_the_run_stops_with_every_reason() {
    let project = project(&error(401), "fallback = [\"second\"]");
    speaker(&project, "second", &error(404));
    project.add(&["A"]);
    let run = project.ralph(&["run"]).expect_code(1);
    assert!(run.stderr.contains("main: ") && run.stderr.contains("second: "), "{}", run.stderr);
    assert_eq!(tries(&project), ["main error auth", "second error config"]);
    assert_eq!(project.json(&["status", "--json"])["attempts"], 0);
}

#[test]
fn out_06_an_unavailable_service_is_tried_a_bounded_number_of_times_before_another_goes_on() {
    let run = "fallback = [\"second\"]\nservice_retries = 2\nbackoff = \"10ms\"";
    let project = project(&error(529), run);
    speaker(&project, "second", &done(0.1));
    project.add(&["A"]);
    project.ok(&["run"]);
    let overloaded = "main error overloaded";
    assert_eq!(tries(&project), [overloaded, overloaded, overloaded, "second done"]);
}

#[test]
fn exit_02_with_no_wait_a_limit_ends_the_run() {
    let project = project(&limit(3600), "");
    project.add(&["A"]);
    let started = Instant::now();
    let run = project.ralph(&["run", "--no-wait"]).expect_code(4);
    assert!(run.stdout.contains("main hit its usage limit"), "{}", run.stdout);
    // The next run knows of it without asking.
    project.ralph(&["run", "--no-wait"]).expect_code(4);
    assert!(started.elapsed() < PATIENCE);
    assert_eq!(tries(&project), ["main error rate_limit"]);
    assert_eq!(project.json(&["status", "--json"])["tasks"]["pending"], 1);
}

#[test]
fn exit_02_a_limit_longer_than_the_longest_wait_ends_the_run() {
    let project = project(&limit(7200), "max_wait = \"1h\"");
    project.add(&["A"]);
    let run = project.ralph(&["run"]).expect_code(4);
    assert!(run.stdout.contains("max_wait allows 60 min"), "{}", run.stdout);
    let run = project.ralph(&["run", "--max-wait", "2"]).expect_code(4);
    assert!(run.stdout.contains("max_wait allows 2 s)"), "{}", run.stdout);
}

#[test]
fn out_09_words_about_limits_are_no_limit() {
    let words = "rate limit reached, 429 Too Many Requests, try again at 3pm";
    let project = project(&said(0.1, words), "max_attempts = 1");
    project.add(&["A"]);
    project.ralph(&["run"]).expect_code(5);
    assert_eq!(tries(&project), ["main no_sigil"]);
}

#[test]
fn models_of_the_first_agent_are_not_forced_on_a_fallback() {
    let project = project(&error(401), "fallback = [\"second\"]");
    let words = format!("test \"$RALPH_MODEL\" = small && {}", said(0.1, DONE_TEXT));
    speaker(&project, "second", &words);
    let toml = project.read(".ralph.toml");
    let toml = toml.replace("[agents.second]", "[agents.second]\nmodels = [\"small\"]");
    project.write(".ralph.toml", &toml);
    project.add(&["A", "--model", "opus"]);
    project.ok(&["run", "--model", "sonnet"]);
    assert_eq!(tries(&project), ["main error auth", "second done"]);
}

#[test]
fn an_agent_that_is_not_there_is_refused_as_a_stand_in() {
    let project = project(&done(0.1), "fallback = [\"secnd\"]");
    speaker(&project, "second", &done(0.1));
    project.add(&["A"]);
    let run = project.ralph(&["run"]).expect_code(2);
    assert!(run.stderr.contains("second"), "{}", run.stderr);
}

#[test]
fn exit_01_a_limit_is_not_waited_for_when_there_is_nothing_to_do() {
    let project = project(&limit(3600), "fallback = [\"second\"]");
    speaker(&project, "second", &done(0.1));
    project.add(&["A"]);
    project.ok(&["run"]);
    // The limit of the first is remembered, and nothing is left.
    let started = Instant::now();
    project.ok(&["run", "--agent", "main"]);
    assert!(started.elapsed() < PATIENCE);
}

#[test]
fn out_05_an_agent_that_recovered_and_is_then_limited_is_limited_and_not_broken() {
    let count = "n=$(cat $0.n 2> /dev/null || echo 0); echo $((n + 1)) > $0.n";
    let first =
        format!("{count}; case $n in 0) {};; 1) {};; *) {};; esac", error(529), done(0.1), limit(3600));
    let run = "fallback = [\"second\"]\nservice_retries = 0\nbackoff_cap = \"10ms\"";
    let project = project(&first, run);
    let second = format!("{count}; case $n in 0) sleep 0.2; {};; *) {};; esac", done(0.1), error(401));
    speaker(&project, "second", &second);
    for title in ["A", "B", "C"] {
        project.add(&[title]);
    }
    let run = project.ralph(&["run", "--no-wait"]).expect_code(4);
    assert!(run.stdout.contains("main hit its usage limit"), "{}", run.stdout);
    assert_eq!(
        tries(&project),
        ["main error overloaded", "second done", "main done", "main error rate_limit", "second error auth"]
    );
}
