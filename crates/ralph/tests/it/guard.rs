//! The guard starts agents and gates: nothing they start gets out from below it, and Ralph notices what happens to it.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::{Project, eventually};

/// A daemon that nobody can find by its session or its environment; its process id is in the file `daemon`.
const DAEMON: &str = "env -i setsid sh -c 'echo $$ > daemon.new; mv daemon.new daemon; exec sleep 600' \
     </dev/null >/dev/null 2>&1 &
     while [ ! -e daemon ]; do sleep 0.01; done";
const DONE: &str = "echo '<no-change-needed>Nothing was asked for.</no-change-needed>'; echo \"<task-done>$RALPH_TASK_ID</task-done>\"";

fn project(script: &str) -> Project {
    let project = Project::new();
    project.agent(script);
    project.add(&["A", "--key", "a"]);
    project
}

fn pid_in(project: &Project, file: &str) -> i32 {
    project.read(file).trim().parse().unwrap()
}

/// Whether a process runs; a zombie does not.
fn runs(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        let state = stat.rsplit(')').next().unwrap_or_default().trim();
        !state.starts_with('Z')
    })
}

fn warnings(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .filter(|event| event["type"] == "warning")
        .filter_map(|event| event["message"].as_str())
        .collect()
}

#[test]
fn a_daemon_without_environment_does_not_survive_a_killed_ralph() {
    let project = project(&format!("{DAEMON}\necho x > started; sleep 600"));
    let mut child = project.start(&["run"]);
    eventually("the agent starts", || project.path("started").exists());
    let daemon = pid_in(&project, "daemon");
    assert!(runs(daemon));
    child.kill().unwrap();
    child.wait().unwrap();
    eventually("the daemon ends", || !runs(daemon));
}

#[test]
fn a_daemon_without_environment_does_not_survive_its_attempt() {
    let project = project(&format!("{DAEMON}\n{DONE}"));
    let output = project.ok(&["run"]);
    assert!(output.stdout.contains("left running"), "{}", output.stdout);
    assert!(!runs(pid_in(&project, "daemon")));
}

#[test]
fn a_daemon_of_a_gate_does_not_survive_it() {
    let project = Project::new();
    project.agent(DONE);
    project.add(&["A", "--key", "a", "--verify", DAEMON]);
    project.ok(&["run"]);
    assert!(!runs(pid_in(&project, "daemon")));
}

#[test]
fn an_agent_that_kills_the_guard_has_failed_and_leaves_nothing() {
    // The guard is the agent's parent.
    let project = project(&format!(
        "if [ -e again ]; then {DONE}; exit; fi
         touch again; {DAEMON}
         kill -9 $PPID; sleep 600"
    ));
    let events = project.ok(&["run", "--json"]).json_lines();
    assert!(!runs(pid_in(&project, "daemon")));
    let history = project.history();
    let (first, second) = (&history[0], &history[1]);
    assert_eq!(
        (&first["outcome"], &first["error_type"], &first["counted"]),
        (&json!("error"), &json!("crash"), &json!(true))
    );
    let finished = events.iter().find(|e| e["type"] == "attempt_finished");
    assert_eq!(finished.unwrap()["message"], "Ralph's guard process was killed during the attempt");
    assert_eq!(second["outcome"], json!("done"));
    let told = warnings(&events);
    assert!(told.contains(&"Ralph's guard process was killed; Ralph started a new one"), "{told:?}");
}

#[test]
fn an_agent_that_always_kills_the_guard_does_not_loop_for_ever() {
    let project = project("kill -9 $PPID; sleep 600");
    project.ralph(&["run", "--max-attempts", "2"]).expect_code(5);
    assert_eq!(project.history().len(), 2);
    assert_eq!(project.status_of("a"), "blocked");
}

#[test]
fn a_gate_that_kills_the_guard_has_failed() {
    let project = Project::new();
    project.agent(DONE);
    project.set("gate", "precheck = false\nretries = 3");
    project.add(&["A", "--key", "a", "--verify", "kill -9 $PPID; sleep 600"]);
    project.ralph(&["run", "--once"]).expect_code(4);
    let attempt = &project.history()[0];
    assert_eq!((&attempt["outcome"], &attempt["counted"]), (&json!("failed"), &json!(true)));
}

#[test]
fn a_stopped_guard_is_continued() {
    // Stopped for good: the agent ends, and only the guard can say so.
    let project = project(&format!("kill -STOP $PPID; {DONE}"));
    let events = project.ok(&["run", "--json"]).json_lines();
    assert_eq!(project.status_of("a"), "done");
    let told = warnings(&events);
    assert!(told.iter().any(|message| message.contains("was suspended")), "{told:?}");
}

#[test]
fn a_guard_that_was_stopped_before_ralph_was_killed_still_ends_everything() {
    let project = project(&format!(
        "{DAEMON}
         echo $$ > agent
         ralph=$(awk '{{ print $4 }}' /proc/$PPID/stat)
         kill -STOP $PPID; kill -9 $ralph; sleep 600"
    ));
    let mut child = project.start(&["run"]);
    assert!(!child.wait().unwrap().success());
    for file in ["daemon", "agent"] {
        let pid = pid_in(&project, file);
        eventually("it ends", || !runs(pid));
    }
}

#[test]
fn the_guard_outlives_signals_that_ask_it_to_end() {
    // What stops a service tells all of its processes. What follows is for Ralph to decide.
    let project = project(&format!(
        "echo $PPID > guard.new; mv guard.new guard; while [ ! -e go ]; do sleep 0.02; done; {DONE}"
    ));
    let mut child = project.start(&["run"]);
    eventually("the agent starts", || project.path("guard").exists());
    let guard = Pid::from_raw(pid_in(&project, "guard")).unwrap();
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT] {
        kill_process(guard, signal).unwrap();
    }
    project.write("go", "");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(project.history().len(), 1);
}

#[test]
fn a_program_that_is_not_there_is_said_to_be_missing() {
    let project = Project::new();
    project.configure("[agents.none]\nkind = \"command\"\ncommand = [\"no-such-agent-anywhere\"]");
    project.set("run", "agent = \"none\"");
    project.add(&["A", "--key", "a"]);
    let output = project.ralph(&["run"]);
    assert_ne!(output.code, 0);
    let attempt = &project.history()[0];
    assert_eq!((&attempt["error_type"], &attempt["counted"]), (&json!("spawn"), &json!(false)));
    let said = format!("{}{}", output.stdout, output.stderr);
    assert!(said.contains("`no-such-agent-anywhere` is not installed"), "{said}");
}
