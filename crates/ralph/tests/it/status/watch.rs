//! `ralph status --watch`.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use expectrl::process::unix::WaitStatus;
use expectrl::session::OsSession;
use expectrl::{Eof, Expect};
use serde_json::{Value, json};

use super::{DONE, active, patient, project};
use crate::support::{Background, Following, Project, eventually};

/// A run whose first task is done and whose second waits for a file.
fn under_way() -> (Project, Background) {
    let mut project =
        project(&format!("[ $RALPH_TASK_KEY = a ] || while [ ! -f go ]; do sleep 0.02; done; {DONE}"));
    project.set_env("TERM", "xterm-256color");
    project.add(&["First", "--key", "a"]);
    project.add(&["Second", "--key", "b"]);
    let run = Background(project.start(&["run"]));
    eventually("the second is begun", || active(&project)[0]["attempts"][0]["key"] == json!("b"));
    (project, run)
}

#[test]
fn in_a_pipe_a_block_is_printed_when_something_changed() {
    let (project, run) = under_way();
    let mut watch = Following::start(&project, &["status", "--watch", "--interval", "0.1"]);
    let mut shown = watch.wait_for("1 of 2 done");
    // Eight looks while nothing changes.
    std::thread::sleep(Duration::from_millis(800));
    project.write("go", "");
    let (rest, _, code) = watch.end();
    run.expect_success();
    assert_eq!(code, 0);
    shown.push_str(&rest);
    let blocks = shown.matches("of 2 done").count();
    assert!((2..6).contains(&blocks), "{shown}");
    assert!(rest.contains("Last run"), "{shown}");
    assert!(!shown.contains('\u{1b}'));
}

#[test]
fn as_json_every_change_is_a_line() {
    let (project, run) = under_way();
    let args = ["status", "--watch", "--json", "--interval", "0.1"];
    let child = project.patient_command(&args).stdout(Stdio::piped()).spawn();
    let mut watch = Background(child.unwrap());
    let out = BufReader::new(watch.0.stdout.take().unwrap());
    let mut lines = out.lines().map(|line| -> Value { serde_json::from_str(&line.unwrap()).unwrap() });
    let first = lines.next().unwrap();
    assert_eq!(first["active"][0]["attempts"][0]["key"], json!("b"));
    assert_eq!((&first["last_run"], &first["tasks"]["total"]), (&Value::Null, &json!(2)));
    // What others change is seen at the next look.
    project.add(&["Third", "--key", "c", "--after", "b"]);
    let second = lines.find(|status| status["tasks"]["total"] == json!(3)).unwrap();
    assert_eq!(second["active"][0]["attempts"][0]["key"], json!("b"));
    project.write("go", "");
    let mut rest: Vec<Value> = lines.collect();
    run.expect_success();
    watch.expect_success();
    rest.insert(0, second);
    for two in rest.windows(2) {
        assert_ne!(two[0], two[1]);
    }
    assert_eq!(rest.last().unwrap(), &project.json(&["status", "--json"]));
}

#[test]
fn where_no_run_is_under_way_it_is_shown_once() {
    let project = patient();
    project.write("go", "");
    let once = project.ok(&["status", "--watch"]).stdout;
    assert_eq!(once, project.ok(&["status"]).stdout);
    project.ok(&["run"]);
    let lines = project.ok(&["status", "--watch", "--json"]).json_lines();
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0], project.json(&["status", "--json"]));
    for wrong in ["0", "-1", "x", "nan"] {
        let interval = format!("--interval={wrong}");
        project.ralph(&["status", "--watch", &interval]).expect_code(2);
    }
    project.ralph(&["status", "--interval", "1"]).expect_code(2);
}

#[track_caller]
fn end(mut session: OsSession) -> (String, WaitStatus) {
    let rest = session.expect(Eof).unwrap();
    let rest = String::from_utf8_lossy(rest.as_bytes()).into_owned();
    (rest, session.get_process().wait().unwrap())
}

#[track_caller]
fn expect_exit(status: &WaitStatus, code: i32) {
    assert!(matches!(status, WaitStatus::Exited(_, c) if *c == code), "{status:?}");
}

#[test]
fn in_a_terminal_it_is_drawn_over_until_the_run_ends() {
    let (project, run) = under_way();
    let mut session = project.in_terminal(&["status", "--watch", "--interval", "0.2"], 60);
    session.expect("Second").unwrap();
    // Drawn from the top, every line to its end, nothing cleared before.
    session.expect("\u{1b}[H").unwrap();
    project.write("go", "");
    let (rest, status) = end(session);
    run.expect_success();
    assert!(rest.contains("\u{1b}[K") && !rest.contains("\u{1b}[2J"), "{rest:?}");
    let last = rest.rsplit("\u{1b}[J").next().unwrap();
    assert!(last.contains("2 of 2 done") && last.contains("Last run"), "{last:?}");
    expect_exit(&status, 0);
}

#[test]
fn q_and_ctrl_c_end_it_and_the_run_goes_on() {
    let (project, run) = under_way();
    for (key, code) in [("q", 0), ("\u{3}", 130)] {
        let mut session = project.in_terminal(&["status", "--watch"], 60);
        session.expect("Second").unwrap();
        session.send(key).unwrap();
        let (_, status) = end(session);
        expect_exit(&status, code);
    }
    // What only looks leaves the terminal as it was.
    assert_eq!(active(&project)[0]["attempts"][0]["key"], json!("b"));
    project.write("go", "");
    run.expect_success();
}

#[test]
fn a_small_terminal_gets_what_fits_and_no_colour_where_none_is_wanted() {
    let (mut project, run) = under_way();
    for n in 0..16 {
        project.add(&[&format!("Later {n}"), "--after", "b"]);
    }
    let failed = "UPDATE tasks SET status = 'failed' WHERE title LIKE 'Later%'";
    project.database().execute(failed, []).unwrap();
    project.set_env("NO_COLOR", "1");
    let mut session = project.in_terminal(&["status", "--watch"], 40);
    let shown = session.expect("more lines").unwrap();
    let shown = String::from_utf8_lossy(shown.before()).into_owned();
    let frame = shown.rsplit("\u{1b}[H").next().unwrap();
    assert!(frame.lines().count() < 30, "{frame:?}");
    for line in frame.lines() {
        let line = line.replace("\u{1b}[K", "");
        assert!(!line.contains('\u{1b}'), "{line:?}");
        assert!(line.trim_end().chars().count() <= 40, "{line:?}");
    }
    session.send("q").unwrap();
    let (_, status) = end(session);
    expect_exit(&status, 0);
    drop(run);
}

#[test]
fn in_a_pipe_ctrl_c_ends_it_too() {
    let (project, run) = under_way();
    let mut watch = Following::start(&project, &["status", "--watch"]);
    watch.wait_for("1 of 2 done");
    watch.interrupt();
    assert_eq!(watch.end().2, 130);
    project.write("go", "");
    run.expect_success();
}
