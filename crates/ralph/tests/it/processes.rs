//! Processes: limits, signals, and nothing left running.

use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::support::{Project, eventually, processes_with};

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// A project whose agent runs this script; every process it starts can be found by the returned mark.
fn project(script: &str) -> (Project, String) {
    let project = Project::new();
    project.agent(script);
    project.add(&["A", "--key", "a"]);
    let mark = format!("RALPH_PROJECT={}", project.root().canonicalize().unwrap().display());
    (project, mark)
}

fn assert_nothing_left(mark: &str) {
    eventually("all processes end", || processes_with(mark).is_empty());
}

#[test]
fn out_04_an_attempt_that_takes_too_long_is_ended_and_counts() {
    let (project, mark) = project("while :; do echo busy; sleep 0.05; done");
    project.ralph(&["run", "--once", "--attempt-timeout", "0.5"]).expect_code(4);
    let attempt = &project.history()[0];
    assert_eq!((&attempt["outcome"], &attempt["error_type"]), (&json!("error"), &json!("timeout")));
    assert_eq!(attempt["counted"], json!(true));
    assert_nothing_left(&mark);
}

#[test]
fn out_04_an_agent_that_falls_silent_is_ended_and_counts() {
    let (project, mark) = project("echo hello; sleep 600");
    project.ralph(&["run", "--once", "--idle-timeout", "500ms"]).expect_code(4);
    assert_eq!(project.history()[0]["error_type"], json!("idle_timeout"));
    assert_nothing_left(&mark);
}

#[test]
fn an_agent_that_ignores_term_is_killed_after_the_grace() {
    let (project, mark) = project("trap '' TERM; while :; do sleep 0.1; done");
    project.set("run", "grace = \"300ms\"");
    project.ralph(&["run", "--once", "--attempt-timeout", "300ms"]).expect_code(4);
    assert_eq!(project.history()[0]["error_type"], json!("timeout"));
    assert_nothing_left(&mark);
}

#[test]
fn what_an_agent_leaves_behind_is_swept() {
    // One in its own session, one that holds the pipes, one orphaned twice over.
    let (project, mark) = project(
        "setsid sleep 600 >/dev/null 2>&1 &
         sleep 600 &
         (setsid sh -c 'sleep 600 & sleep 600' >/dev/null 2>&1 &)
         echo \"<task-done>$RALPH_TASK_ID</task-done>\"",
    );
    let output = project.ok(&["run"]);
    assert!(output.stdout.contains("left running"), "{}", output.stdout);
    assert_eq!(processes_with(&mark), Vec::<i32>::new());
}

#[test]
fn exit_04_the_first_interrupt_ends_the_attempt_in_order() {
    for (sent, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let (project, mark) = project("echo started > started; sleep 600");
        let mut child = project.start(&["run"]);
        eventually("the agent starts", || project.path("started").exists());
        signal(&child, sent);
        assert_eq!(child.wait().unwrap().code(), Some(code));
        let attempt = &project.history()[0];
        assert_eq!(attempt["error_type"], json!("interrupted"));
        assert_eq!(attempt["counted"], json!(false));
        let task = project.task("a");
        assert_eq!((&task["status"], &task["attempts"]), (&json!("pending"), &json!(0)));
        let claims: i64 =
            project.database().query_row("SELECT count(*) FROM claims", [], |row| row.get(0)).unwrap();
        assert_eq!(claims, 0);
        assert_nothing_left(&mark);
    }
}

/// Starts a run whose grace period is ten minutes and sends it INT again and again; its exit code.
fn interrupted_until_it_ends(project: &Project) -> Option<i32> {
    project.set("run", "grace = \"10min\"");
    let mut child = project.start(&["run"]);
    eventually("the agent starts", || project.path("started").exists());
    let mut ended = None;
    eventually("the run ends", || {
        ended = child.try_wait().unwrap();
        if ended.is_none() {
            signal(&child, Signal::INT);
            // Two that arrive together are one.
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
        ended.is_some()
    });
    ended.and_then(|status| status.code())
}

#[test]
fn the_second_interrupt_does_not_wait() {
    let (project, mark) = project("trap '' TERM INT; echo x > started; while :; do sleep 0.1; done");
    assert_eq!(interrupted_until_it_ends(&project), Some(130));
    assert_eq!(project.history()[0]["error_type"], json!("interrupted"));
    assert_nothing_left(&mark);
}

#[test]
fn the_second_interrupt_does_not_wait_for_stubborn_left_overs() {
    let (project, mark) = project(
        "setsid sh -c 'trap \"\" TERM; while :; do sleep 0.1; done' >/dev/null 2>&1 &
         echo x > started; sleep 600",
    );
    assert_eq!(interrupted_until_it_ends(&project), Some(130));
    assert_nothing_left(&mark);
}

#[test]
fn exit_04_an_interrupt_while_a_gate_runs_starts_nothing_more() {
    let (project, mark) = project("echo started >> agents; echo \"<task-done>$RALPH_TASK_ID</task-done>\"");
    project.add(&["Parent", "--key", "p", "--verify", "echo x > gate; sleep 600"]);
    let part = project.add(&["Part", "--parent", "p"]);
    project.ok(&["task", "done", &part]);
    let mut child = project.start(&["run"]);
    eventually("the parent's gate runs", || project.path("gate").exists());
    signal(&child, Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!project.path("agents").exists());
    assert!(project.history().is_empty());
    assert_eq!(project.status_of("p"), "pending");
    assert_nothing_left(&mark);
}

/// Runs the plan with a signal ignored from the start; returns the exit code.
fn run_ignoring(project: &Project, signal: &str) -> Option<i32> {
    let script = format!("trap '' {signal}; exec {} run --quiet", env!("CARGO_BIN_EXE_ralph"));
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &script]).current_dir(project.root());
    project.clean(&mut command).status().unwrap().code()
}

#[test]
fn under_nohup_a_hangup_is_ignored() {
    let (project, _) = project(
        "kill -HUP $(awk '{ print $4 }' /proc/$PPID/stat); sleep 0.3; echo \"<task-done>$RALPH_TASK_ID</task-done>\"",
    );
    assert_eq!(run_ignoring(&project, "HUP"), Some(0));
}

#[test]
fn an_ignored_end_of_children_does_not_hang_a_run() {
    let (project, _) = project("echo \"<task-done>$RALPH_TASK_ID</task-done>\"");
    assert_eq!(run_ignoring(&project, "CHLD"), Some(0));
}

#[test]
fn plan_07_a_killed_ralph_leaves_no_agent_and_loses_no_attempt() {
    let (project, mark) = project(
        "echo '<learning category=\"pitfall\" tags=\"x\">Look twice.</learning>'
         if [ -e again ]; then echo \"<task-done>$RALPH_TASK_ID</task-done>\"; exit; fi
         touch again; setsid sleep 600 >/dev/null 2>&1 & echo x > started; sleep 600",
    );
    let mut child = project.start(&["run"]);
    eventually("the agent starts", || project.path("started").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    // The guard ends the agent and what it put into other sessions; no further run is needed for that.
    assert_nothing_left(&mark);
    let output = project.ok(&["run"]);
    assert!(output.stdout.contains("interrupted by a crash"), "{}", output.stdout);
    assert_nothing_left(&mark);
    let attempts = project.history();
    assert_eq!(attempts.len(), 2);
    assert_eq!((&attempts[0]["error_type"], &attempts[0]["counted"]), (&json!("lost"), &json!(false)));
    assert_eq!((&attempts[1]["outcome"], &attempts[1]["attempt"]), (&json!("done"), &json!(1)));
    let learnt: i64 =
        project.database().query_row("SELECT count(*) FROM learnings", [], |row| row.get(0)).unwrap();
    assert_eq!(learnt, 2);
}

#[test]
fn a_persons_word_frees_a_task_whose_run_died() {
    let (project, _) = project("echo x > started; sleep 600");
    let mut child = project.start(&["run"]);
    eventually("the agent starts", || project.path("started").exists());
    let refused = project.ralph(&["task", "done", "a"]).expect_code(2);
    assert!(refused.stderr.contains("being attempted"), "{}", refused.stderr);
    child.kill().unwrap();
    child.wait().unwrap();
    // Until someone looks after it, nobody calls it running.
    for shown in [["task", "list"], ["task", "show"], ["task", "tree"]] {
        let args: Vec<&str> = shown.into_iter().chain((shown[1] == "show").then_some("a")).collect();
        let shown = project.ok(&args).stdout;
        assert!(!shown.contains("running"), "{shown}");
    }
    project.ok(&["task", "done", "a"]);
    assert_eq!(project.history()[0]["error_type"], json!("lost"));
}

#[test]
fn what_an_agent_says_last_is_read_however_much_came_before() {
    let (project, _) = project("seq 1 200000; echo \"<task-done>$RALPH_TASK_ID</task-done>\"");
    project.ok(&["run"]);
    let log = project.ok(&["logs", "a", "--raw"]).stdout;
    assert!(log.contains("\n200000\n"), "{}", log.len());
}

#[test]
fn hostile_output_of_any_shape_is_survived() {
    let (project, _) = project(
        "head -c 3000000 /dev/zero
         head -c 3000000 /dev/urandom
         awk 'BEGIN { while (i++ < 200000) printf \"<\" }'
         printf '\\033[31m\\033]0;title\\007\\r\\n\\000\\n'
         printf '\\033[1m<task-done>%s</task-done>\\033[0m' \"$RALPH_TASK_ID\"",
    );
    project.ok(&["run"]);
    assert_eq!(project.status_of("a"), "done");
}

#[test]
fn out_08_a_signal_to_agent_and_ralph_alike_is_an_interruption() {
    // What stops a service or a container tells everybody; the agent may be the first to obey.
    for agent_first in [true, false] {
        let (project, _) = project("echo $$ > pid; exec sleep 600");
        let mut child = project.start(&["run"]);
        let pid =
            || project.path("pid").exists().then(|| project.read("pid").trim().parse::<i32>().ok()).flatten();
        eventually("the agent starts", || pid().is_some());
        let agent = Pid::from_raw(pid().unwrap()).unwrap();
        if agent_first {
            kill_process(agent, Signal::TERM).unwrap();
            signal(&child, Signal::TERM);
        } else {
            signal(&child, Signal::TERM);
            let _ = kill_process(agent, Signal::TERM);
        }
        assert_eq!(child.wait().unwrap().code(), Some(143));
        let attempt = &project.history()[0];
        assert_eq!((&attempt["error_type"], &attempt["counted"]), (&json!("interrupted"), &json!(false)));
    }
}
