//! Several workers of one run, each in a working tree of its own, that land on one branch.

mod crash;
mod following;
mod landing;
mod limits;
mod storm;
mod trees;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{Project, eventually};

pub const DONE: &str = "echo \"<task-done>$RALPH_TASK_ID</task-done>\"";

/// Writes a file of the task's own.
pub fn writes_own_file() -> String {
    format!("echo x > \"$RALPH_TASK_KEY.txt\"; {DONE}")
}

/// A project in a repository with a first commit, whose agent is this script.
pub fn project(agent: &str) -> Project {
    let mut project = Project::with_git();
    project.agent(agent);
    project.set_env("RALPH_SET_BREAKER_THRESHOLD", "1000");
    let home = project.root().join("../home/.gitconfig");
    fs::write(home, "[user]\nname = t\nemail = t@localhost\n").unwrap();
    project.write("base.txt", "base\n");
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "first"]);
    project
}

/// Adds tasks `k1`, `k2`, … whose gate wants their file.
pub fn add_tasks(project: &Project, count: usize) {
    for n in 1..=count {
        let (key, gate) = (format!("k{n}"), format!("test -f k{n}.txt"));
        project.add(&[&format!("Task {n}"), "--key", &key, "--verify", &gate]);
    }
}

/// The branch that the last run landed on.
pub fn branch(project: &Project) -> String {
    let sql = "SELECT branch FROM runs WHERE branch IS NOT NULL ORDER BY number DESC LIMIT 1";
    project.database().query_row(sql, [], |row| row.get(0)).unwrap()
}

pub fn files_on(project: &Project, branch: &str) -> BTreeSet<String> {
    project.git(&["ls-tree", "-r", "--name-only", branch]).lines().map(str::to_owned).collect()
}

/// The directory of the project's working trees.
pub fn trees_dir(project: &Project) -> PathBuf {
    let all = project.root().join("../home/.local/state/ralph/worktrees");
    fs::read_dir(all).unwrap().next().unwrap().unwrap().path()
}

/// The processes that a process started.
pub fn children(pid: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

pub fn events(project: &Project, kind: &str) -> Vec<Value> {
    let document = project.json(&["logs", "--json"]);
    let events = document["events"].as_array().unwrap().clone();
    events.into_iter().filter(|event| event["type"] == kind).collect()
}

#[test]
fn workers_share_the_plan_and_land_each_task_as_one_commit() {
    let project = project(&writes_own_file());
    add_tasks(&project, 6);
    let run = project.ok(&["run", "-j", "3"]);
    let branch = branch(&project);
    let own = BTreeSet::from_iter((1..=6).map(|n| format!("k{n}.txt")));
    assert!(files_on(&project, &branch).is_superset(&own));
    assert_eq!(project.git(&["rev-list", "--count", &format!("main..{branch}")]).trim(), "6");
    assert_eq!(project.git(&["rev-list", "--merges", "--count", &branch]).trim(), "0");
    // The person's tree is as it was; the end says how to get the work.
    assert!(!project.path("k1.txt").exists());
    assert_eq!(project.git(&["status", "--porcelain", "-uno"]), "");
    let told = format!("6 commits on {branch}; to bring them into main: git merge {branch}");
    assert!(run.stdout.contains(&told), "{}", run.stdout);
    project.git(&["merge", "-q", "--ff-only", &branch]);
    assert!(project.path("k6.txt").exists());
    for attempt in project.history() {
        assert_eq!(attempt["verified"], json!(true), "{attempt}");
        let landed = attempt["commit_after"].as_str().unwrap();
        project.git(&["merge-base", "--is-ancestor", landed, "main"]);
    }
    // Every event has a number of its own, and names its worker.
    let document = project.json(&["logs", "--json"]);
    let events = document["events"].as_array().unwrap();
    let numbers: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    let workers: BTreeSet<&str> = events.iter().filter_map(|event| event["worker"].as_str()).collect();
    assert!(workers.contains("w1") && workers.contains("supervisor"), "{workers:?}");
}

#[test]
fn several_workers_without_git_are_refused_and_one_is_not() {
    let project = Project::new();
    project.agent(DONE);
    project.add(&["A", "--verify", "true"]);
    let refused = project.ralph(&["run", "--jobs", "2"]).expect_code(2);
    assert!(
        refused.stderr.contains("git repository") && refused.stderr.contains("git init"),
        "{}",
        refused.stderr
    );
    project.ok(&["run", "-j", "1"]);
}

#[test]
fn one_worker_may_have_a_tree_of_its_own_too() {
    let project = project(&writes_own_file());
    add_tasks(&project, 2);
    project.set("run", "isolate = true");
    project.ok(&["run"]);
    assert!(!project.path("k1.txt").exists());
    assert!(files_on(&project, &branch(&project)).contains("k2.txt"));
    // Without it, a run works in the person's tree as ever.
    let plain = self::project(&writes_own_file());
    add_tasks(&plain, 1);
    plain.ok(&["run", "-j", "1"]);
    assert!(plain.path("k1.txt").exists());
}

#[test]
fn a_task_begins_when_what_it_depends_on_has_landed() {
    let project = project(&format!("ls > \"$RALPH_TASK_KEY.txt\"; {DONE}"));
    project.add(&["A", "--key", "a", "--verify", "test -f a.txt"]);
    project.add(&["B", "--key", "b", "--after", "a", "--verify", "test -f b.txt"]);
    project.add(&["C", "--key", "c", "--verify", "test -f c.txt"]);
    project.ok(&["run", "-j", "3"]);
    let seen = project.git(&["show", &format!("{}:b.txt", branch(&project))]);
    assert!(seen.lines().any(|line| line == "a.txt"), "{seen}");
}

#[test]
fn a_limit_of_attempts_holds_over_all_workers_exactly() {
    let project = project(&format!("echo x > \"$RALPH_TASK_KEY.txt\"; sleep 0.2; {DONE}"));
    add_tasks(&project, 8);
    project.ralph(&["run", "-j", "4", "--limit", "5"]).expect_code(4);
    assert_eq!(project.history().len(), 5);
    assert_eq!(project.json(&["status", "--json"])["tasks"]["done"], json!(5));
}

#[test]
fn a_request_to_stop_lets_every_worker_finish_its_attempt() {
    let project = project(&format!(
        "touch \"$RALPH_PROJECT/.ralph/began-$RALPH_TASK_KEY\"; until [ -e \"$RALPH_PROJECT/go\" ]; do sleep 0.05; done; \
         echo x > \"$RALPH_TASK_KEY.txt\"; {DONE}"
    ));
    add_tasks(&project, 5);
    let mut run = project.start(&["run", "-j", "2", "--quiet"]);
    let began = |key: &str| project.path(format!(".ralph/began-{key}")).exists();
    eventually("two attempts begin", || began("k1") && began("k2"));
    let status = project.json(&["status", "--json"]);
    let attempts = status["active"][0]["attempts"].as_array().unwrap().clone();
    assert_eq!(attempts.len(), 2, "{status}");
    assert!(attempts.iter().all(|attempt| attempt["state"] == "working"), "{attempts:?}");
    project.ok(&["stop", "--after-attempt"]);
    fs::write(project.path("go"), "").unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(7));
    let history = project.history();
    assert_eq!(history.len(), 2);
    assert!(history.iter().all(|attempt| attempt["outcome"] == "done"));
    assert!(!began("k3"));
}

#[test]
fn ctrl_c_ends_all_workers_and_counts_nothing() {
    let project =
        project(&format!("touch \"$RALPH_PROJECT/.ralph/began-$RALPH_TASK_KEY\"; sleep 1000; {DONE}"));
    add_tasks(&project, 3);
    let mut run = project.start(&["run", "-j", "2", "--quiet"]);
    let began = |key: &str| project.path(format!(".ralph/began-{key}")).exists();
    eventually("two attempts begin", || began("k1") && began("k2"));
    crate::stage::send(&run, rustix::process::Signal::INT);
    assert_eq!(run.wait().unwrap().code(), Some(130));
    let history = project.history();
    assert_eq!(history.len(), 2);
    assert!(history.iter().all(|attempt| attempt["counted"] == json!(false)), "{history:?}");
    let mark = project.root().display().to_string();
    eventually("no agent is left", || {
        crate::support::processes_with(&format!("RALPH_PROJECT={mark}")).is_empty()
    });
}

#[test]
fn the_breaker_holds_over_all_workers() {
    let mut project =
        project("echo 'FAILURE_REASON: no luck'; echo \"<task-failed>$RALPH_TASK_ID</task-failed>\"");
    project.set_env("RALPH_SET_BREAKER_THRESHOLD", "3");
    add_tasks(&project, 6);
    let run = project.ralph(&["run", "-j", "3"]).expect_code(6);
    assert_eq!(run.stdout.matches("Circuit breaker triggered").count(), 2, "{}", run.stdout);
    assert_eq!(events(&project, "breaker_opened").len(), 1);
    // Those that were under way when it opened are recorded, and none began later.
    assert!(project.history().len() <= 5, "{}", project.history().len());
    // The next run makes one trial attempt, whatever the number of its workers.
    let before = project.history().len();
    project.ralph(&["run", "-j", "3"]).expect_code(6);
    assert_eq!(project.history().len(), before + 1);
}

#[test]
fn tasks_that_change_the_files_of_work_in_progress_are_claimed_last() {
    let project = project(&format!(
        "echo x > \"$RALPH_TASK_KEY.txt\"; touch \"$RALPH_PROJECT/.ralph/began-$RALPH_TASK_KEY\"; \
         if [ \"$RALPH_TASK_KEY\" = a ]; then until [ -e \"$RALPH_PROJECT/.ralph/began-c\" ]; do sleep 0.05; done; fi; {DONE}"
    ));
    project.add(&["A", "--key", "a", "--files", "src/one.rs", "--verify", "true"]);
    project.add(&["B", "--key", "b", "--files", "src/one.rs", "--verify", "true"]);
    project.add(&["C", "--key", "c", "--files", "src/two.rs", "--verify", "true"]);
    // B would come second, and A ends only when C began.
    project.ok(&["run", "-j", "2"]);
    let began: Vec<String> = events(&project, "attempt_started")
        .iter()
        .map(|event| event["key"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(began.last().map(String::as_str), Some("b"), "{began:?}");
}

#[test]
fn a_task_that_conflicted_waits_for_work_on_the_same_files() {
    // C lands first. A conflicts with it and is under way again when B conflicts, too.
    let project = project(&format!(
        "here=\"$RALPH_PROJECT/.ralph\"; key=$RALPH_TASK_KEY\n\
         until_there() {{ n=0; until [ -e \"$here/$1\" ] || [ $n -ge 300 ]; do sleep 0.1; n=$((n + 1)); done; }}\n\
         case $key in\n\
         a) if [ -e \"$here/began-a\" ]; then touch \"$here/again-a\"; until_there began-more; else touch \"$here/began-a\"; until_there landed-c; fi;;\n\
         b) if [ -e \"$here/began-b\" ]; then touch \"$here/again-b\"; else touch \"$here/began-b\"; until_there again-a; fi;;\n\
         c) until_there began-b;;\n\
         long) touch \"$here/landed-c\"; until_there began-more;;\n\
         more) touch \"$here/began-more\";;\n\
         esac\n\
         case $key in a|b|c) echo $key >> base.txt;; esac; echo x > $key.txt; {DONE}"
    ));
    for key in ["a", "b", "c", "long", "more"] {
        project.add(&[&format!("Task {key}"), "--key", key, "--verify", &format!("test -f {key}.txt")]);
    }
    project.ok(&["run", "-j", "3"]);
    assert!(project.path(".ralph/again-b").exists(), "B never conflicted");
    let began: Vec<String> = events(&project, "attempt_started")
        .iter()
        .map(|event| event["key"].as_str().unwrap().to_owned())
        .collect();
    let last = |key: &str| began.iter().rposition(|one| one == key).unwrap();
    assert!(last("more") < last("b"), "{began:?}");
}
