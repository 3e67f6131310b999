//! Limits that hold over all workers: costs, usage limits, and who is asked.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use expectrl::{Eof, Expect};
use rustix::process::Signal;
use serde_json::Value;

use super::{DONE, add_tasks, events, project};
use crate::stage::send;
use crate::streams::{done, limit, speaker};
use crate::support::{Project, eventually, processes_with};

/// A project whose agent `main` speaks as Claude Code does.
fn speaking(script: &str) -> Project {
    let mut project = project(DONE);
    speaker(&project, "main", script);
    project.set_env("RALPH_SET_RUN_AGENT", "main");
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "agent"]);
    project
}

fn cost_of_last_run(project: &Project) -> f64 {
    project.json(&["status", "--json"])["last_run"]["cost_usd"].as_f64().unwrap()
}

#[test]
fn a_cost_limit_is_passed_by_no_more_than_one_attempt_may_cost() {
    // Each tells what it costs at its end, when nobody can stop it any more.
    let project = speaking(&format!("sleep 0.2; echo x > $RALPH_TASK_ID.txt; {}", done(0.3)));
    for n in 0..12 {
        project.add(&[&format!("Task {n}")]);
    }
    project.ralph(&["run", "-j", "4", "--max-cost", "1"]).expect_code(4);
    let cost = cost_of_last_run(&project);
    assert!((0.9..=1.3).contains(&cost), "{cost}");
    // What attempts cost is known from then on: few are begun together where little is left.
    project.ralph(&["run", "-j", "4", "--max-cost", "0.5"]).expect_code(4);
    let cost = cost_of_last_run(&project);
    assert!((0.5..=0.8).contains(&cost), "{cost}");
}

#[test]
fn an_attempt_that_uses_up_what_it_reserved_is_stopped() {
    let mut project = project(DONE);
    let step = "echo '{\"type\":\"step_finish\",\"part\":{\"reason\":\"tool-calls\",\"cost\":0.1}}'";
    project.write("counts.sh", &format!("cat > /dev/null; while {step}; do sleep 0.2; done"));
    project.configure(
        "[agents.counts]\nkind = \"command\"\noutput = \"opencode\"\ncommand = [\"sh\", \"counts.sh\"]",
    );
    project.set_env("RALPH_SET_RUN_AGENT", "counts");
    project.git(&["add", "-A"]);
    project.git(&["commit", "-qm", "agent"]);
    for n in 0..4 {
        project.add(&[&format!("Task {n}")]);
    }
    // A step costs 10 cents. Four attempts begin with a quarter each, and go no further than a step beyond it.
    project.ralph(&["run", "-j", "4", "--max-cost", "1"]).expect_code(4);
    let cost = cost_of_last_run(&project);
    assert!((1.0..=1.4).contains(&cost), "{cost}");
}

#[test]
fn a_usage_limit_that_one_worker_meets_holds_the_others_too() {
    let script = format!(
        "echo x >> \"$RALPH_PROJECT/.ralph/begun\"\n\
         if mkdir \"$RALPH_PROJECT/.ralph/first\" 2> /dev/null; then\n\
         until [ $(wc -l < \"$RALPH_PROJECT/.ralph/begun\") -eq 2 ]; do sleep 0.05; done; {}; fi\n\
         until [ -e \"$RALPH_PROJECT/.ralph/go\" ]; do sleep 0.05; done; echo x > $RALPH_TASK_ID.txt; {}",
        limit(3600),
        done(0.1)
    );
    let project = speaking(&script);
    for n in 0..6 {
        project.add(&[&format!("Task {n}")]);
    }
    let mut run = project.start(&["run", "-j", "2", "--quiet"]);
    let begun = || fs::read_to_string(project.path(".ralph/begun")).unwrap_or_default().lines().count();
    eventually("one meets the limit while another is at work", || begun() == 2);
    eventually("the limit is known", || {
        !project.json(&["limits", "show", "--json"])["limits"].as_array().unwrap().is_empty()
    });
    fs::write(project.path(".ralph/go"), "").unwrap();
    // The one that was at work ends, and nobody begins another.
    eventually("both wait", || {
        let status = project.json(&["status", "--json"]);
        status["tasks"]["done"] == 1 && status["tasks"]["in_progress"] == 0
    });
    eventually("it is told", || events(&project, "waiting").len() >= 2);
    assert_eq!(begun(), 2);
    // A person who lifts it lets all go on.
    project.ok(&["limits", "clear"]);
    assert_eq!(run.wait().unwrap().code(), Some(0));
    assert_eq!(project.json(&["status", "--json"])["tasks"]["done"], 6);
    // Without waiting the run ends.
    let project = speaking(&limit(3600));
    project.add(&["A"]);
    project.add(&["B"]);
    project.ralph(&["run", "-j", "2", "--no-wait"]).expect_code(4);
    assert!(project.history().iter().all(|one| one["counted"] == Value::Bool(false)));
}

#[test]
fn several_workers_ask_nobody_after_a_failure_and_the_breaker_asks_once() {
    for pause_on in ["stuck", "failure"] {
        let mut project =
            project("echo 'FAILURE_REASON: no luck'; echo \"<task-failed>$RALPH_TASK_ID</task-failed>\"");
        project.set_env("RALPH_SET_RUN_PAUSE_ON", pause_on);
        project.set_env("RALPH_SET_RUN_MAX_ATTEMPTS", "4");
        project.add(&["A", "--verify", "true"]);
        project.add(&["B", "--verify", "true"]);
        let mut session = project.in_terminal(&["run", "-j", "2"], 100);
        let screen = session.expect(Eof).unwrap();
        let screen = String::from_utf8_lossy(screen.as_bytes()).into_owned();
        assert!(!screen.contains("[r]esume"), "{screen}");
        assert_eq!(project.json(&["status", "--json"])["run"]["exit_code"], 5, "{pause_on}: {screen}");
        assert_eq!(project.history().len(), 8);
    }
    let mut project =
        project("echo 'FAILURE_REASON: no luck'; echo \"<task-failed>$RALPH_TASK_ID</task-failed>\"");
    project.set_env("RALPH_SET_BREAKER_THRESHOLD", "3");
    add_tasks(&project, 6);
    let mut session = project.in_terminal(&["run", "-j", "3"], 100);
    session.expect("[r]esume / [s]kip / [a]bort:").unwrap();
    eventually("nobody works meanwhile", || project.json(&["status", "--json"])["tasks"]["in_progress"] == 0);
    session.send("a").unwrap();
    session.expect(Eof).unwrap();
    assert_eq!(project.json(&["status", "--json"])["run"]["exit_code"], 7);
}

#[test]
fn ctrl_c_ends_workers_that_a_run_which_broke_off_still_waits_for() {
    let project = project(&format!("echo $$ > \"$RALPH_PROJECT/.ralph/began\"; sleep 1000; {DONE}"));
    add_tasks(&project, 2);
    // The first worker that is to make a working tree after an attempt has begun is killed, again and again.
    let dir = project.root().join("../killing");
    fs::create_dir_all(&dir).unwrap();
    let path = std::env::var("PATH").unwrap();
    let script = format!(
        "#!/bin/sh\nfor word; do if [ \"$word\" = worktree ]; then\n\
         mkdir '{dir}/first' 2> /dev/null && PATH='{path}' exec git \"$@\"\n\
         until [ -e '{root}/.ralph/began' ]; do sleep 0.05; done; kill -9 $PPID; exit 1; fi; done\n\
         PATH='{path}' exec git \"$@\"\n",
        dir = dir.display(),
        root = project.root().display()
    );
    fs::write(dir.join("git"), script).unwrap();
    fs::set_permissions(dir.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut run = project.command(&["run", "-j", "2", "--quiet"]);
    let mut run = run.env("PATH", format!("{}:{path}", dir.display())).spawn().unwrap();
    eventually("an attempt begins", || project.path(".ralph/began").exists());
    eventually("it is started again", || {
        let warnings = events(&project, "warning");
        warnings
            .iter()
            .filter(|event| event.to_string().contains("was killed; Ralph started it again"))
            .count()
            == 5
    });
    // Then the run breaks off, and waits for the other's attempt.
    let mark = format!("RALPH_PROJECT={}", project.root().display());
    assert!(!processes_with(&mark).is_empty());
    std::thread::sleep(std::time::Duration::from_millis(500));
    send(&run, Signal::INT);
    assert_eq!(run.wait().unwrap().code(), Some(1));
    eventually("no agent is left", || processes_with(&mark).is_empty());
    let history = project.history();
    assert_eq!((history.len(), &history[0]["error_type"]), (1, &Value::from("interrupted")));
}
