//! Runs in the background: started, looked at, paused, resumed, stopped.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use crate::run::{DONE, project};
use crate::support::{Project, eventually, processes_with};

/// Waits at the first task until the file `go` is there.
fn waiting_project() -> Project {
    let project =
        project(&format!("echo begun; touch begun; while [ ! -e go ]; do sleep 0.05; done; {DONE}"));
    project.add(&["A", "--key", "a"]);
    project.add(&["B", "--key", "b"]);
    project
}

fn active(project: &Project) -> bool {
    project.json(&["status", "--json"])["run"]["active"] == true
}

#[test]
fn a_detached_run_goes_on_by_itself_and_prints_to_its_file() {
    let project = waiting_project();
    let started = project.ok(&["run", "--detach", "--json"]).json();
    let run = started["run_id"].as_str().unwrap();
    let status = project.json(&["status", "--json"]);
    assert_eq!(status["run"]["id"], run);
    assert_eq!(status["run"]["active"], true);
    eventually("the agent begins", || project.path("begun").exists());
    // It has a session of its own: closing the terminal does not reach it.
    let pid = started["pid"].as_u64().unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields = stat.rsplit(')').next().unwrap();
    assert_eq!(fields.split_whitespace().nth(3), Some(&*pid.to_string()));
    project.write("go", "");
    eventually("it ends", || !active(&project));
    assert_eq!(project.status_of("b"), "done");
    let output = started["output"].as_str().unwrap();
    eventually("it prints its summary", || project.read(output).contains("2 of 2 done"));
    let mode = std::fs::metadata(project.path(output)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(project.json(&["status", "--json"])["run"]["exit_code"], 0);
}

#[test]
fn a_detached_run_that_cannot_start_says_why() {
    let project = project(DONE);
    let run = project.ralph(&["run", "--detach"]).expect_code(3);
    assert!(run.stderr.contains("there is no plan"), "{}", run.stderr);
    project.add(&["A"]);
    project.configure("[run]\nmodel = 'x'");
    let run = project.ralph(&["run", "--detach"]).expect_code(2);
    assert!(run.stderr.contains(".ralph.toml"), "{}", run.stderr);
}

#[test]
fn a_detached_run_that_cannot_work_is_told_with_its_own_message_and_exit_code() {
    // Its agent says a word, then is refused: the run ends with 1.
    let refused = "echo '{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\",\"model\":\"m\"}'\n\
        echo '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"api_error_status\":401,\"result\":\"Please run /login\"}'; exit 1";
    let project = project(refused);
    project.configure("output = \"claude\"");
    project.add(&["A", "--key", "a"]);
    let alone = project.ralph(&["run"]).expect_code(1);
    let detached = project.ralph(&["run", "--detach"]).expect_code(1);
    assert_eq!(detached.stdout, "");
    let message = |text: &str| {
        let mut lines = text.lines();
        let line = lines.find(|line| line.starts_with("error: ")).map(str::to_owned);
        line.unwrap_or_else(|| panic!("{text}"))
    };
    assert_eq!(message(&detached.stderr), message(&alone.stderr));
    assert!(detached.stderr.contains("see its output: .ralph/logs/run-"), "{}", detached.stderr);
    let json = project.ralph(&["run", "--detach", "--json"]).expect_code(1).json();
    assert_eq!(json["ended"], true);
    assert_eq!(json["exit_code"], 1);

    // An agent that fails at once: the run ends with 5 and says so.
    project.write("agent.sh", "exit 7");
    let failed = project.ralph(&["run", "--detach", "--max-attempts", "1"]).expect_code(5);
    assert!(failed.stderr.starts_with("error: "), "{}", failed.stderr);

    // Nothing is left to run: the run ends with 5 before any attempt.
    project.ok(&["task", "fail", "a", "--reason", "x"]);
    project.add(&["B", "--key", "b", "--after", "a"]);
    let nothing = project.ralph(&["run", "--detach"]).expect_code(5);
    assert!(nothing.stderr.starts_with("error: "), "{}", nothing.stderr);
}

#[test]
fn a_detached_run_of_an_agent_that_is_not_logged_in_is_told_although_its_session_starts() {
    let project = Project::new();
    project.write(
        "codex.sh",
        "cat >/dev/null\necho '{\"type\":\"thread.started\",\"thread_id\":\"t\"}'\n\
         echo '{\"type\":\"error\",\"message\":\"Reconnecting... 2/5 (unexpected status 401 Unauthorized: no key)\"}'\nsleep 3\n\
         echo '{\"type\":\"turn.failed\",\"error\":{\"message\":\"unexpected status 401 Unauthorized: no key\"}}'\nexit 1\n",
    );
    project
        .write(".ralph.toml", "[run]\nagent = \"codex\"\n[agents.codex]\ncommand = [\"sh\", \"codex.sh\"]\n");
    project.add(&["A", "--key", "a"]);
    let run = project.ralph(&["run", "--detach"]).expect_code(1);
    assert_eq!(run.stdout, "");
    for told in
        ["note: no login found for codex", "401 Unauthorized", " hint: log in to codex: run `codex login`"]
    {
        assert!(run.stderr.contains(told), "{told:?} in {}", run.stderr);
    }
}

#[test]
fn a_detached_run_is_checked_before_it_is_started() {
    let project = Project::with_git();
    project.agent(DONE);
    project.add(&["A", "--key", "a"]);
    let toml = project.read(".ralph.toml");
    project.write(".ralph.toml", &toml.replace("\"sh\", \"agent.sh\"", "\"no-such-agent\""));
    let missing = project.ralph(&["run", "--detach"]).expect_code(1);
    assert!(missing.stderr.contains("no-such-agent"), "{}", missing.stderr);
    project.write(".ralph.toml", &toml);
    project.configure("[git]\ncommit = \"on-success\"\non_dirty = \"refuse\"");
    project.git(&["config", "user.email", "a@example.org"]);
    project.git(&["config", "user.name", "a"]);
    let dirty = project.ralph(&["run", "--detach"]).expect_code(1);
    assert!(dirty.stderr.contains("uncommitted changes"), "{}", dirty.stderr);
    // Neither left a run behind.
    assert_eq!(project.json(&["status", "--json"])["run"], serde_json::Value::Null);
}

#[test]
fn a_detached_run_that_is_done_at_once_says_so() {
    let project = project(DONE);
    project.add(&["A", "--key", "a"]);
    let run = project.ok(&["run", "--detach"]).stdout;
    // On a slow machine it may still be running when the first second is over.
    assert!(run.contains("has already ended: ") || run.contains("is running in the background"), "{run}");
    eventually("it ends", || !active(&project));
    assert_eq!(project.status_of("a"), "done");
    project.add(&["B", "--key", "b"]);
    project.add(&["C", "--key", "c"]);
    // An attempt was made: the limit is no failure to start.
    project.ok(&["run", "--detach", "--once"]);
    eventually("it ends", || !active(&project));
}

#[test]
fn exit_04_stop_ends_a_run_in_the_background_and_frees_its_claim() {
    let project = waiting_project();
    project.ok(&["run", "--detach"]);
    eventually("the agent begins", || project.path("begun").exists());
    let stopped = project.ok(&["stop"]);
    assert!(stopped.stdout.contains("stopped"), "{}", stopped.stdout);
    let status = project.json(&["status", "--json"]);
    assert_eq!(status["run"]["exit_code"], 143);
    let told = project.ok(&["status"]).stdout;
    assert!(told.contains("Stopped by `ralph stop`"), "{told}");
    assert_eq!(status["tasks"]["pending"], 2);
    assert_eq!(project.history()[0]["error_type"], "interrupted");
    let root = project.root().display().to_string();
    assert!(processes_with(&root).is_empty());
    // Once more is no error.
    let again = project.ok(&["stop"]);
    assert!(again.stdout.contains("no active run"), "{}", again.stdout);
}

#[test]
fn a_run_that_was_stopped_like_ctrl_z_is_told_of_and_can_be_ended() {
    use rustix::process::{Pid, Signal, kill_process};
    for stop in [&["stop"][..], &["stop", "--now"]] {
        let project = waiting_project();
        let started = project.ok(&["run", "--detach", "--json"]).json();
        eventually("the agent begins", || project.path("begun").exists());
        let pid = i32::try_from(started["pid"].as_i64().unwrap()).unwrap();
        let stopped = || project.json(&["status", "--json"])["active"][0]["stopped"] == true;
        assert!(!stopped());
        kill_process(Pid::from_raw(pid).unwrap(), Signal::STOP).unwrap();
        eventually("it is stopped", stopped);
        let status = project.ok(&["status"]).stdout;
        assert!(status.contains(&format!("kill -CONT {pid}")), "{status}");
        project.ok(stop);
        assert_eq!(project.json(&["status", "--json"])["run"]["exit_code"], 143);
    }
}

#[test]
fn a_quiet_detached_run_prints_its_id_and_nothing_else() {
    let project = waiting_project();
    let started = project.ok(&["run", "--detach", "-q"]);
    let run = project.json(&["status", "--json"])["run"]["id"].clone();
    assert_eq!(started.stdout, format!("{}\n", run.as_str().unwrap()));
    assert_eq!(started.stderr, "");
    project.write("go", "");
    eventually("it ends", || !active(&project));
}

#[test]
fn stop_after_attempt_lets_the_attempt_end() {
    let project = waiting_project();
    project.ok(&["run", "--detach"]);
    eventually("the agent begins", || project.path("begun").exists());
    project.ok(&["stop", "--after-attempt"]);
    // Neither takes that back.
    let paused = project.ok(&["pause"]);
    assert!(paused.stdout.contains("cannot be paused"), "{}", paused.stdout);
    let resumed = project.ok(&["resume"]);
    assert!(resumed.stdout.contains("was not paused"), "{}", resumed.stdout);
    project.write("go", "");
    eventually("it ends", || !active(&project));
    assert_eq!(project.status_of("a"), "done");
    assert_eq!(project.status_of("b"), "pending");
    assert_eq!(project.json(&["status", "--json"])["run"]["exit_code"], 7);
}

#[test]
fn a_paused_run_finishes_its_attempt_and_waits_for_resume() {
    let project = waiting_project();
    project.ok(&["run", "--detach"]);
    eventually("the agent begins", || project.path("begun").exists());
    let paused = project.ok(&["pause"]);
    assert!(paused.stdout.contains("ralph resume"), "{}", paused.stdout);
    project.write("go", "");
    eventually("the first is done", || project.status_of("a") == "done");
    let still = Instant::now();
    while still.elapsed() < Duration::from_millis(600) {
        assert_eq!(project.status_of("b"), "pending");
    }
    let status = project.json(&["status", "--json"]);
    assert_eq!(status["run"]["request"], "pause");
    project.ok(&["resume"]);
    eventually("the second is done", || project.status_of("b") == "done");
    eventually("it ends", || !active(&project));
    assert_eq!(project.json(&["status", "--json"])["run"]["exit_code"], 0);
}

#[test]
fn a_paused_run_can_be_stopped() {
    let project = waiting_project();
    project.ok(&["run", "--detach", "--", "a", "b"]);
    eventually("the agent begins", || project.path("begun").exists());
    project.ok(&["pause"]);
    project.write("go", "");
    eventually("the first is done", || project.status_of("a") == "done");
    project.ok(&["stop"]);
    assert!(!active(&project));
    assert_eq!(project.status_of("b"), "pending");
}

#[test]
fn a_paused_run_that_is_to_end_after_its_attempt_starts_no_other() {
    let project = waiting_project();
    project.ok(&["run", "--detach"]);
    eventually("the agent begins", || project.path("begun").exists());
    project.ok(&["pause"]);
    project.write("go", "");
    eventually("it is paused", || {
        let status = project.json(&["status", "--json"]);
        status["active"][0]["waiting"]["waiting_for"] == "resume"
    });
    project.ok(&["stop", "--after-attempt"]);
    eventually("it ends", || !active(&project));
    assert_eq!(project.status_of("b"), "pending");
}

#[test]
fn a_run_that_is_not_active_is_named() {
    let project = waiting_project();
    let run = project.ralph(&["stop", "r-nobody"]).expect_code(2);
    assert!(run.stderr.contains("run `r-nobody` is not active"), "{}", run.stderr);
}

/// Makes the run that is on record one of another host.
fn move_away(project: &Project, expires_at: &str) {
    let moved = "UPDATE runs SET host = 'elsewhere', ended_at = NULL, expires_at = ?1";
    project.database().execute(moved, [expires_at]).unwrap();
}

#[test]
fn a_run_of_another_host_counts_as_long_as_it_gives_signs_of_life() {
    let project = project(DONE);
    project.add(&["A"]);
    project.ok(&["run"]);
    move_away(&project, "2999-01-01T00:00:00.000Z");
    assert!(active(&project));
    let run = project.ralph(&["stop"]).expect_code(2);
    assert!(run.stderr.contains("on other hosts"), "{}", run.stderr);

    move_away(&project, "2020-01-01T00:00:00.000Z");
    assert!(!active(&project));
    let stop = project.ok(&["stop"]).stdout;
    assert_eq!(stop.trim(), "no active run");
    project.add(&["B"]);
    project.ok(&["run"]);
    let open = "SELECT count(*) FROM runs WHERE ended_at IS NULL";
    let open: u32 = project.database().query_row(open, [], |row| row.get(0)).unwrap();
    assert_eq!(open, 0);
}
