//! Logs are kept by age and size, and what is still needed is kept whatever they say.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::{DONE, project};
use crate::support::{Background, Project, eventually};

/// The log of a task's last attempt, below the project's root.
fn log_of(project: &Project, task: &str) -> String {
    let attempts = project.json(&["history", task, "--json"]);
    let last = attempts.as_array().unwrap().last().unwrap();
    last["log_path"].as_str().unwrap().to_owned()
}

/// What stands beside a log: standard error and the prompt.
fn beside(log: &str) -> [String; 2] {
    [".stderr.log", ".prompt.md"].map(|end| log.replace(".jsonl", end))
}

/// Makes a file so many days old.
fn age(project: &Project, path: &str, days: u64) {
    let file = File::options().append(true).open(project.path(path)).unwrap();
    let then = SystemTime::now() - Duration::from_secs(days * 86_400);
    file.set_modified(then).unwrap();
}

fn keep_all(project: &mut Project) {
    project.set_env("RALPH_SET_LOGS_KEEP_DAYS", "0");
    project.set_env("RALPH_SET_LOGS_MAX_MB", "0");
}

fn is_there(project: &Project, path: &str) -> bool {
    project.path(path).exists()
}

fn pruned(project: &Project) -> Vec<Value> {
    let events = project.json(&["logs", "--json"])["events"].clone();
    let events = events.as_array().unwrap().clone();
    events.into_iter().filter(|event| event["type"] == json!("logs_pruned")).collect()
}

/// Two tasks that are done, with standard error, and one that failed.
fn played() -> Project {
    let project = project(&format!(
        "echo oops >&2; case $RALPH_TASK_KEY in bad) echo 'FAILURE_REASON: no';; *) {DONE};; esac"
    ));
    for key in ["a", "b", "bad"] {
        project.add(&[key, "--key", key]);
    }
    project.ralph(&["run", "--max-attempts", "1"]).expect_code(5);
    project
}

#[test]
fn at_the_end_of_a_run_old_logs_go_but_none_that_is_needed() {
    let project = played();
    let (a, b, bad) = (log_of(&project, "a"), log_of(&project, "b"), log_of(&project, "bad"));
    let [errors, prompt] = beside(&a);
    project.write(".ralph/logs/notes.txt", "mine");
    project.write(".ralph/logs/run-1.log", "printed");
    for path in [&a, &errors, &prompt, &bad, ".ralph/logs/notes.txt", ".ralph/logs/run-1.log"] {
        age(&project, path, 31);
    }
    let of_prompt = project.read(&prompt).len();
    age(&project, &b, 29);
    project.add(&["c", "--key", "c"]);
    let run = project.ralph(&["run"]).expect_code(5);
    assert!(run.stdout.contains("deleted 4 old logs"), "{}", run.stdout);
    let there = |path: &str| is_there(&project, path);
    assert!(!there(&a) && !there(&errors) && !there(&prompt) && !there(".ralph/logs/run-1.log"));
    assert!(there(&b) && there(&bad) && there(".ralph/logs/notes.txt"));
    let events = pruned(&project);
    assert_eq!(events.len(), 1);
    let bytes = "<task-done>t-000000</task-done>\n".len() + "oops\n".len() + "printed".len() + of_prompt;
    assert_eq!((&events[0]["files"], &events[0]["bytes"]), (&json!(4), &json!(bytes)));
    // The attempt still says where its log was.
    assert_eq!(log_of(&project, "a"), a);
}

#[test]
fn a_log_that_was_pruned_says_which_setting_did_it() {
    let mut project = played();
    fs::remove_file(project.path(log_of(&project, "a"))).unwrap();
    let gone = project.ralph(&["logs", "a"]).expect_code(1);
    assert!(gone.stderr.contains("[logs] max_mb = 1024"), "{}", gone.stderr);
    let raw = project.ralph(&["logs", "a", "--raw"]).expect_code(1);
    assert!(raw.stderr.contains("max_mb"), "{}", raw.stderr);
    assert_eq!(project.json(&["logs", "a", "--json"])["exists"], json!(false));
    let before = "UPDATE iteration_outcomes SET started_at = '2020-01-01T00:00:00.000Z'";
    project.database().execute(before, []).unwrap();
    let gone = project.ralph(&["logs", "a"]).expect_code(1);
    assert!(gone.stderr.contains("[logs] keep_days = 30"), "{}", gone.stderr);
    keep_all(&mut project);
    let gone = project.ralph(&["logs", "a"]).expect_code(1);
    assert!(gone.stderr.contains("Ralph did not delete it"), "{}", gone.stderr);
}

#[test]
fn the_oldest_go_first_until_the_rest_fits() {
    let mut project = project(&format!("head -c 400000 /dev/zero; echo; {DONE}"));
    project.set_env("RALPH_SET_LOGS_MAX_MB", "1");
    let mut logs = Vec::new();
    for n in 0_u64..5 {
        let key = format!("k{n}");
        project.add(&[&key, "--key", &key]);
        project.ok(&["run", &key]);
        let log = log_of(&project, &key);
        logs.push(log.clone());
        if is_there(&project, &log) {
            age(&project, &log, 5 - n);
        }
    }
    let left: Vec<bool> = logs.iter().map(|log| is_there(&project, log)).collect();
    assert_eq!(left, [false, false, false, true, true]);
}

#[test]
fn by_hand_they_go_at_once_and_first_one_may_look() {
    let project = played();
    let a = log_of(&project, "a");
    let [errors, prompt] = beside(&a);
    for path in [&a, &errors, &prompt] {
        age(&project, path, 100);
    }
    let dry = project.ok(&["logs", "--prune", "--dry-run"]).stdout;
    assert!(dry.lines().last().is_some_and(|last| last.starts_with("3 logs would be deleted, ")), "{dry}");
    assert!(is_there(&project, &a));
    let document = project.json(&["logs", "--prune", "--json"]);
    assert_eq!((&document["files"], &document["dry_run"]), (&json!(3), &json!(false)));
    let names = document["names"].as_array().unwrap();
    let is_own = |name: &Value| a.ends_with(name.as_str().unwrap());
    assert!(names.iter().any(is_own), "{document}");
    assert!([&a, &errors, &prompt].iter().all(|path| !is_there(&project, path)));
    assert_eq!(project.ok(&["logs", "--prune"]).text(), "0 logs deleted, 0 B");
    project.ralph(&["logs", "--prune", "a"]).expect_code(2);
    project.ralph(&["logs", "--dry-run"]).expect_code(2);
}

#[test]
fn zero_keeps_them_for_ever() {
    let mut project = played();
    keep_all(&mut project);
    let a = log_of(&project, "a");
    age(&project, &a, 10_000);
    assert_eq!(project.ok(&["logs", "--prune"]).text(), "0 logs deleted, 0 B");
    project.ralph(&["run"]).expect_code(5);
    assert!(is_there(&project, &a) && pruned(&project).is_empty());
}

#[test]
fn a_log_under_way_is_never_deleted() {
    let mut project =
        project(&format!("head -c 3000000 /dev/zero; while [ ! -f go ]; do sleep 0.05; done; echo; {DONE}"));
    project.set_env("RALPH_SET_LOGS_MAX_MB", "1");
    project.add(&["A", "--key", "a"]);
    let run = Background(project.start(&["run"]));
    eventually("the log is written", || {
        let path = project.ralph(&["logs", "a", "--path"]).stdout;
        fs::metadata(path.trim_end()).is_ok_and(|meta| meta.len() == 3_000_000)
    });
    let path = project.ok(&["logs", "a", "--path"]).text().to_owned();
    // However old it seems.
    let file = File::options().append(true).open(&path).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    assert_eq!(project.ok(&["logs", "--prune"]).text(), "0 logs deleted, 0 B");
    project.write("go", "");
    run.expect_success();
    // Once its task is done, it goes.
    assert!(!std::path::Path::new(&path).exists());
    assert_eq!(pruned(&project).len(), 1);
}
