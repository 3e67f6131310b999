//! A night in fast-forward: many tasks, agents that fail, hang, hit limits, crash and lie at random, and a Ralph that is
//! killed again and again. In the morning everything adds up.

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::stage::send;
use crate::streams::{done, error, limit, said};
use crate::support::{Project, data_memory, processes_with};

const TASKS: usize = 500;
const KILLS: usize = 10;
/// More than any task may get on average, with those that do not count. How long a night takes says nothing.
const MOST_ATTEMPTS: usize = 15;
/// The most memory that a night may take for its data.
const MEMORY_KB: u64 = 16 * 1024;

/// What becomes of an attempt follows from the task and the number of tries so far, so that a night can be told again.
fn agent() -> String {
    let lie = said(0.02, "<task-done>'$RALPH_TASK_ID'</task-done>");
    let failed = said(0.03, "<task-failed>'$RALPH_TASK_ID'</task-failed>");
    let silent = said(0.04, "I looked at it");
    [
        "cat > /dev/null",
        "n=$(cat tries-$RALPH_TASK_ID 2> /dev/null || echo 0); echo $((n + 1)) > tries-$RALPH_TASK_ID",
        "echo $RALPH_TASK_ID >> ledger",
        "set -- $(printf %s $RALPH_TASK_ID$n | cksum)",
        "hopeless=$(( $(printf %d 0x${RALPH_TASK_ID#t-}) % 25 ))",
        "work() { touch made-$RALPH_TASK_ID; }",
        &format!("if [ $hopeless = 0 ]; then {lie}; exit; fi"),
        "case $(( $1 % 24 )) in",
        &format!("0|1) {lie};;"),
        &format!("2) {failed};;"),
        &format!("3) {silent};;"),
        "4) echo '{\"type\":\"system\",\"subtype\":\"init\"}'; sleep 600;;",
        "5) kill -9 $$;;",
        "6) echo 'no JSON at all <task-done>'; exit 42;;",
        &format!("7) if [ $(( $1 % 5 )) = 0 ]; then {}; else {}; fi;;", limit(1), error(429)),
        &format!("8|9) {};;", error(429)),
        &format!("10) {};;", error(529)),
        &format!("11) sleep 300 & work; {};;", done(0.05)),
        &format!("*) work; {};;", done(0.01)),
        "esac",
    ]
    .join("\n")
}

fn project() -> Project {
    let project = Project::empty();
    project.write(
        ".ralph.toml",
        "[run]\nagent = \"night\"\nidle_timeout = \"250ms\"\ngrace = \"100ms\"\nbackoff = \"5ms\"\n\
         backoff_cap = \"20ms\"\nservice_retries = 50\n\
         [breaker]\non_open = \"wait\"\ncooldown = \"20ms\"\n[memory]\nagents_md = false\n\
         [gate]\nverify = \"test -e made-$RALPH_TASK_ID || { echo made-$RALPH_TASK_ID is missing; exit 1; }\"\n\
         [agents.night]\nkind = \"command\"\noutput = \"claude\"\ncommand = [\"sh\", \"night.sh\"]\n",
    );
    project.write("night.sh", &agent());
    project.ok(&["init"]);
    let plan: String =
        (0..TASKS).map(|n| format!("- [ ] {}.{} Task {n}\n", n / 50 + 1, n % 50 + 1)).collect();
    let plan = plan.replace("] ", "] [P] ").replace("[ ] [P] ", "[ ] ");
    project.write("plan.md", &plan);
    project.ok(&["import", "plan.md"]);
    let database = project.database();
    // No order: whatever is stuck holds up nothing.
    database.execute("DELETE FROM dependencies", []).unwrap();
    project
}

fn recorded(project: &Project) -> usize {
    let count = "SELECT count(*) FROM iteration_outcomes";
    let count: i64 = project.database().query_row(count, [], |row| row.get(0)).unwrap_or(0);
    count as usize
}

/// One stretch of the night: until so many tries are recorded and a moment longer, then the end without a word; or until it ends by itself.
fn stretch(project: &Project, until: Option<(usize, Duration)>) -> (Option<i32>, u64) {
    let mut child = project.start(&["run"]);
    let mut peak = 0;
    let (mut attempts, mut at) = (0, Instant::now());
    loop {
        peak = peak.max(data_memory(child.id()).unwrap_or(0));
        if let Some(status) = child.try_wait().unwrap() {
            return (status.code(), peak);
        }
        let so_far = recorded(project);
        if let Some((_, late)) = until.filter(|(until, _)| so_far >= *until) {
            thread::sleep(late);
            send(&child, Signal::KILL);
            child.wait().unwrap();
            return (None, peak);
        }
        if so_far > attempts {
            (attempts, at) = (so_far, Instant::now());
        }
        assert!(at.elapsed() < Duration::from_secs(600), "it does not go on after {attempts} attempts");
        assert!(attempts < TASKS * MOST_ATTEMPTS, "it does not end");
        thread::sleep(Duration::from_millis(15));
    }
}

/// What every log says its session cost.
fn reported(project: &Project) -> BTreeMap<String, f64> {
    let mut costs = BTreeMap::new();
    for entry in fs::read_dir(project.path(".ralph/logs")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.ends_with(".jsonl") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let cost = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter_map(|event| event["total_cost_usd"].as_f64())
            .sum();
        costs.insert(name, cost);
    }
    costs
}

#[test]
fn after_a_night_every_task_is_done_or_blocked_and_everything_adds_up() {
    let project = project();
    let mut peak = 0;
    for kill in 1..=KILLS {
        let until = recorded(&project) + TASKS / 12 + kill;
        // Not always at the same place of an attempt.
        let late = Duration::from_millis(kill as u64 * 7 % 40);
        let (ended, kb) = stretch(&project, Some((until, late)));
        peak = peak.max(kb);
        assert_eq!(ended, None, "the night ended too early");
    }
    let (ended, kb) = stretch(&project, None);
    peak = peak.max(kb);
    assert_eq!(ended, Some(5), "some tasks are hopeless");

    // Every task has an end and a reason.
    let tasks = project.json(&["task", "list", "--json"]);
    let tasks = tasks.as_array().unwrap();
    assert_eq!(tasks.len(), TASKS);
    let mut blocked = 0;
    for task in tasks {
        match task["status"].as_str().unwrap() {
            "done" => {}
            "blocked" => {
                blocked += 1;
                assert!(!task["reason"].as_str().unwrap().is_empty(), "{task}");
            }
            other => panic!("{other}: {task}"),
        }
    }
    assert!((1..TASKS / 4).contains(&blocked), "{blocked} blocked");

    // Every session has one record, and every record is numbered once.
    let history = project.history();
    let mut numbers: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    let mut logs: Vec<&str> = Vec::new();
    for attempt in &history {
        let task = attempt["task_id"].as_str().unwrap();
        let number = attempt["attempt_number"].as_u64().unwrap();
        numbers.entry(task).or_default().push(number);
        logs.extend(attempt["log_path"].as_str());
    }
    for (task, mut numbers) in numbers {
        numbers.sort_unstable();
        let expected: Vec<u64> = (1..=numbers.len() as u64).collect();
        assert_eq!(numbers, expected, "{task}");
    }
    let mut each = logs.clone();
    each.sort_unstable();
    each.dedup();
    assert_eq!(each.len(), logs.len(), "two records share a log");
    let sessions = project.read("ledger").lines().count();
    let lost = history.iter().filter(|attempt| attempt["error_type"] == "lost").count();
    assert!(lost <= KILLS, "{lost} lost");
    // A kill may come between the record of a session's beginning and the session.
    let recorded = history.len();
    assert!(sessions <= recorded && recorded <= sessions + KILLS, "{sessions} and {recorded}");

    // What it cost is what the sessions said.
    let reported = reported(&project);
    let known = |log: &&str| reported.contains_key(log.rsplit('/').next().unwrap_or_default());
    assert!(logs.iter().all(known), "a recorded log is gone");
    // A kill may come before a session's beginning is on record; its log is then empty.
    assert!(reported.len() <= logs.len() + KILLS);
    let told: f64 = reported.values().sum();
    let status = project.json(&["status", "--json"]);
    let known = status["cost_usd"].as_f64().unwrap();
    assert!((told - known).abs() < 1e-6, "{told} and {known}");
    let spent = "SELECT sum(cost_usd) FROM spending";
    let spent: f64 = project.database().query_row(spent, [], |row| row.get(0)).unwrap();
    assert!((told - spent).abs() < 1e-6, "{told} and {spent}");

    assert!(peak < MEMORY_KB, "{peak} kB");
    let root = project.root().display().to_string();
    assert_eq!(processes_with(&root), Vec::<i32>::new());
    println!("{recorded} attempts, {blocked} blocked, {lost} lost, peak {peak} kB");
}
