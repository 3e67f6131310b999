//! `ralph logs -f`: against runs that are going on.

use serde_json::{Value, json};

use super::{DONE, project};
use crate::support::{Background, Following, Project, eventually};

/// Waits until a file is there.
const GATE: &str = "until_there() { while [ ! -f \"$1\" ]; do sleep 0.02; done; }";

/// Every attempt prints its number, waits for a file of that number, and fails until the third.
fn three_attempts() -> Project {
    let project = project(&format!(
        "{GATE}
         echo begin $RALPH_ATTEMPT; until_there \"go-$RALPH_ATTEMPT\"; echo end $RALPH_ATTEMPT
         [ $RALPH_ATTEMPT -lt 3 ] && echo 'FAILURE_REASON: not yet' || {DONE}"
    ));
    project.add(&["A", "--key", "a"]);
    project
}

#[test]
fn it_goes_on_with_the_log_and_the_next_attempt_until_the_run_ends() {
    let project = three_attempts();
    let run = Background(project.start(&["run"]));
    eventually("the run is recorded", || project.json(&["status", "--json"])["run"]["active"] == json!(true));
    let mut follow = Following::start(&project, &["logs", "-f", "a"]);
    for attempt in 1..=3 {
        let shown = follow.wait_for(&format!("begin {attempt}"));
        assert!(shown.contains(&format!("attempt {attempt} · script")), "{shown}");
        // Nothing is shown before it is there.
        assert!(!shown.contains(&format!("end {attempt}")), "{shown}");
        project.write(&format!("go-{attempt}"), "");
        follow.wait_for(&format!("end {attempt}"));
        follow.wait_for(if attempt < 3 { "✗ failed" } else { "◐ done, unverified" });
    }
    run.expect_success();
    let (rest, errors, code) = follow.end();
    assert!(rest.trim_end().ends_with(" s"), "{rest}");
    assert_eq!((rest.lines().count(), errors.as_str(), code), (1, "", 0));
}

#[test]
fn raw_it_gives_the_bytes_of_every_attempt_and_json_the_events() {
    let project = three_attempts();
    let run = Background(project.start(&["run"]));
    eventually("the first attempt is begun", || project.ralph(&["logs", "a", "--raw"]).stdout == "begin 1\n");
    let raw = Following::start(&project, &["logs", "-f", "--raw", "a"]);
    let json = Following::start(&project, &["logs", "-f", "--json"]);
    let own = Following::start(&project, &["logs", "-f", "--json", "a"]);
    let mut story = Following::start(&project, &["logs", "-f"]);
    story.wait_for("▶ a A  attempt 1");
    for attempt in 1..=3 {
        project.write(&format!("go-{attempt}"), "");
    }
    run.expect_success();
    let logs: String =
        project.history().iter().map(|attempt| project.read(attempt["log_path"].as_str().unwrap())).collect();
    assert_eq!(raw.end(), (logs, String::new(), 0));
    let (events, errors, code) = json.end();
    assert_eq!((errors.as_str(), code), ("", 0));
    let events: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(&events, project.json(&["logs", "--json"])["events"].as_array().unwrap());
    assert_eq!(events.last().unwrap()["type"], json!("run_finished"));
    // With a task, only what is about it.
    let (of_task, ..) = own.end();
    let starts = of_task.matches("\"attempt_started\"").count();
    assert_eq!((starts, of_task.contains("run_finished")), (3, false));
    let (rest, _, code) = story.end();
    assert!(rest.contains("Finished: every task is done") && code == 0, "{rest}");
}

#[test]
fn where_no_run_is_under_way_it_ends_at_once() {
    let project = project(&format!("echo hello; {DONE}"));
    project.add(&["A", "--key", "a"]);
    project.add(&["B", "--key", "b", "--after", "a"]);
    project.ralph(&["logs", "-f", "b"]).expect_code(2);
    project.ralph(&["run", "--once"]).expect_code(4);
    for (args, told) in [
        (&["logs", "-f", "a"][..], "\nhello\n"),
        (&["logs", "-f"], "Stopped: the limit of 1 attempt"),
        (&["logs", "--follow", "--raw", "a"], "hello\n"),
        (&["logs", "-f", "--json"], "run_finished"),
    ] {
        let shown = project.ok(args);
        assert!(shown.stdout.contains(told), "{args:?}\n{}", shown.stdout);
        assert_eq!(shown.stderr, "");
    }
    project.ralph(&["logs", "-f", "b"]).expect_code(2);
}

#[test]
fn a_task_that_has_its_turn_later_is_waited_for() {
    let project = project(&format!("{GATE}; until_there go; echo at $RALPH_TASK_KEY; {DONE}"));
    project.add(&["A", "--key", "a"]);
    project.add(&["B", "--key", "b", "--after", "a"]);
    let run = Background(project.start(&["run"]));
    eventually("the run is recorded", || project.json(&["status", "--json"])["run"]["active"] == json!(true));
    let follow = Following::start(&project, &["logs", "-f", "b"]);
    project.write("go", "");
    let (shown, _, code) = follow.end();
    assert!(shown.contains("b B · attempt 1") && shown.contains("at b"), "{shown}");
    assert!(!shown.contains("at a") && code == 0, "{shown}");
    run.expect_success();
}

#[test]
fn ctrl_c_ends_it_quietly() {
    let project = three_attempts();
    let run = Background(project.start(&["run"]));
    eventually("the first attempt is begun", || project.ralph(&["logs", "a", "--raw"]).stdout == "begin 1\n");
    for args in [&["logs", "-f", "a"][..], &["logs", "-f"], &["logs", "-f", "--raw", "a"]] {
        let mut follow = Following::start(&project, args);
        follow.wait_for(if args.len() == 2 { "attempt 1" } else { "begin 1" });
        follow.interrupt();
        let (_, errors, code) = follow.end();
        assert_eq!((errors.as_str(), code), ("", 130), "{args:?}");
    }
    // The run did not mind.
    for attempt in 1..=3 {
        project.write(&format!("go-{attempt}"), "");
    }
    run.expect_success();
}

#[test]
fn a_reader_that_leaves_ends_it() {
    let project = three_attempts();
    let run = Background(project.start(&["run"]));
    eventually("the first attempt is begun", || project.ralph(&["logs", "a", "--raw"]).stdout == "begin 1\n");
    let mut follow = Following::start(&project, &["logs", "-f", "a"]);
    follow.wait_for("begin 1");
    // Nothing more is written meanwhile, so no write could fail.
    let Following { mut child, lines } = follow;
    drop(lines);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    for attempt in 1..=3 {
        project.write(&format!("go-{attempt}"), "");
    }
    run.expect_success();
}

#[test]
fn a_run_that_dies_ends_it_too() {
    let project = three_attempts();
    let run = Background(project.start(&["run"]));
    eventually("the first attempt is begun", || project.ralph(&["logs", "a", "--raw"]).stdout == "begin 1\n");
    let mut of_task = Following::start(&project, &["logs", "-f", "a"]);
    let of_run = Following::start(&project, &["logs", "-f"]);
    of_task.wait_for("begin 1");
    drop(run);
    let (rest, _, code) = of_task.end();
    assert!(rest.contains("Ralph crashed during this attempt") && code == 0, "{rest}");
    let (story, _, code) = of_run.end();
    assert!(!story.contains("Stopped:") && !story.contains("Finished:") && code == 0, "{story}");
}
