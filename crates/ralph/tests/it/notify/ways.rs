//! The command, the bell, the desktop, and `ralph notify test`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use expectrl::{Eof, Expect};
use serde_json::{Value, json};

use super::receiver::{Answer, Receiver};
use super::{project, with_webhook};
use crate::support::{Project, processes_with};

#[test]
fn a_command_gets_the_notice_on_its_standard_input() {
    let project = project(
        &["a"],
        "command = \"cat > notice.json; env | grep ^RALPH_ | sort > env.txt; pwd > cwd.txt\"",
    );
    let output = project.ok(&["run"]);
    assert!(!output.stderr.contains("warning"), "{}", output.stderr);
    let notice: Value = serde_json::from_str(&project.read("notice.json")).unwrap();
    assert_eq!(notice["occasion"], "done");
    let env = project.read("env.txt");
    for expected in [
        "RALPH_NOTIFY_OCCASION=done\n".to_owned(),
        "RALPH_NOTIFY_TITLE=work: every task is done, some unverified\n".to_owned(),
        "RALPH_NOTIFY_MESSAGE=every task is done\n".to_owned(),
        format!("RALPH_RUN_ID={}\n", notice["run_id"].as_str().unwrap()),
    ] {
        assert!(env.contains(&expected), "{expected} in {env}");
    }
    let root = project.root().canonicalize().unwrap();
    assert_eq!(project.read("cwd.txt").trim(), root.display().to_string());
}

/// The first attempt's failure starts a command that takes longer than the attempts that follow, and what tidies up
/// after each of them must neither end it nor take note of its end.
#[test]
fn a_command_outlives_what_tidies_up_after_attempts() {
    let project = project(
        &["bad", "good-1", "good-2", "good-3"],
        "on = [\"blocked\"]\ncommand = \"sleep 2; echo $RALPH_NOTIFY_OCCASION >> told\"",
    );
    let output = project.ralph(&["run", "--max-attempts", "1"]).expect_code(5);
    assert!(!output.stderr.contains("warning"), "{}", output.stderr);
    assert_eq!(project.read("told"), "blocked\nblocked\n");
}

/// Commands that end at once are most likely to be reaped by somebody else.
#[test]
fn quick_commands_are_not_taken_for_left_overs() {
    let keys: Vec<String> = (0..12).map(|n| format!("bad-{n}")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let project = project(&keys, "command = \"echo told >> told\"");
    project.set("breaker", "threshold = 50");
    let output = project.ralph(&["run", "--max-attempts", "1"]).expect_code(5);
    assert!(!output.stderr.contains("warning"), "{}", output.stderr);
    assert_eq!(project.read("told").lines().count(), 13);
}

#[test]
fn a_command_that_fails_is_told_with_its_last_words_and_changes_nothing() {
    let project = project(&["a"], "command = \"echo first; echo no bot >&2; exit 3\"");
    let output = project.ok(&["run"]);
    let expected = "warning: cannot send the notification `done`: command: exited with code 3: no bot";
    assert!(output.stderr.contains(expected), "{}", output.stderr);
}

/// The live display draws what failed itself; a line from elsewhere would garble it.
#[test]
fn a_failure_while_the_display_is_live_is_shown_by_it() {
    let mut project = project(&["bad", "good"], "command = \"exit 3\"\non = [\"blocked\"]");
    project.set_env("TERM", "xterm-256color");
    let slow = format!("sleep 1\n{}", project.read("agent.sh"));
    project.write("agent.sh", &slow);
    let mut session = project.in_terminal(&["run", "--max-attempts", "1"], 120);
    let screen = session.expect(Eof).unwrap();
    let screen = String::from_utf8_lossy(screen.as_bytes()).into_owned();
    let told = "! cannot send the notification `blocked`: command: exited with code 3";
    assert!(screen.contains(told), "{screen}");
    assert_eq!(screen.matches("cannot send the notification").count(), 1, "{screen}");
}

#[test]
fn a_command_without_end_is_ended_with_the_run() {
    use rustix::process::{Pid, Signal, kill_process};
    for (signal, code) in [(Signal::TERM, Some(0)), (Signal::KILL, None)] {
        let project = project(&["a"], "command = \"touch begun; sleep 600; true\"");
        let mut run = project.start(&["run"]);
        crate::support::eventually("the command runs", || project.path("begun").exists());
        kill_process(Pid::from_child(&run), signal).unwrap();
        assert_eq!(run.wait().unwrap().code(), code);
        let root = project.root().canonicalize().unwrap();
        let mark = format!("RALPH_PROJECT={}", root.display());
        crate::support::eventually("the command is gone", || processes_with(&mark).is_empty());
    }
}

#[test]
fn the_bell_rings_in_a_terminal() {
    let mut project = project(&["a"], "bell = true");
    project.set_env("TERM", "xterm-256color");
    let mut session = project.in_terminal(&["run"], 100);
    let screen = session.expect(Eof).unwrap();
    let screen = screen.as_bytes().to_vec();
    assert_eq!(screen.iter().filter(|byte| **byte == 7).count(), 1);
    // Without a terminal nothing rings and nothing is said.
    let output = without_terminal(&project, &["run"]);
    assert!(!output.stdout.contains(&7));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

/// In a session of its own, whatever terminal the tests were started from.
fn without_terminal(project: &Project, args: &[&str]) -> std::process::Output {
    let mut command = Command::new("setsid");
    command
        .arg(env!("CARGO_BIN_EXE_ralph"))
        .args(args)
        .current_dir(project.root())
        .stdin(std::process::Stdio::null());
    project.clean(&mut command).output().unwrap()
}

/// How often a terminal rings while a script runs in it.
fn rings(project: &Project, script: &str) -> usize {
    let ralph = env!("CARGO_BIN_EXE_ralph");
    let script = format!("ralph() {{ '{ralph}' \"$@\"; }}; {script}");
    let mut session = project.any_in_terminal(&["sh", "-c", &script], 100, "");
    let screen = session.expect(Eof).unwrap();
    screen.as_bytes().iter().filter(|byte| **byte == 7).count()
}

#[test]
fn the_bell_rings_in_the_terminal_a_run_was_started_from_wherever_its_output_goes() {
    let project = project(&["a"], "bell = true");
    assert_eq!(rings(&project, "ralph run > printed 2>&1"), 1);
    assert!(!project.read("printed").contains('\u{7}'));
    assert_eq!(rings(&project, "ralph notify test > printed 2>&1 < /dev/null"), 1);
    assert!(project.read("printed").contains("bell: sent"));
}

#[test]
fn a_run_in_the_background_rings_no_bell() {
    let project = project(&["a"], "bell = true\ncommand = \"touch told\"");
    let script = "ralph run --detach > printed 2>&1; until [ -e told ]; do sleep 0.05; done; sleep 0.3";
    assert_eq!(rings(&project, script), 0);
}

/// No attempt follows the last notice, and none at all a test.
#[test]
#[cfg(target_os = "linux")]
fn what_a_command_leaves_running_is_ended_at_the_end() {
    let project = project(&["a"], "command = \"sleep 997 & (setsid sleep 996 &); touch told; exit 0\"");
    let root = project.root().canonicalize().unwrap();
    let mark = format!("RALPH_PROJECT={}", root.display());
    for args in [&["run"][..], &["notify", "test"]] {
        project.ok(args);
        assert!(project.path("told").exists());
        assert_eq!(processes_with(&mark), Vec::<i32>::new(), "{args:?}");
        fs::remove_file(project.path("told")).unwrap();
    }
}

fn with_notify_send(project: &mut Project) {
    project.write("bin/notify-send", "#!/bin/sh\nprintf '%s\\n' \"$@\" > shown.txt\n");
    let program = project.path("bin/notify-send");
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let bin = project.path("bin");
    project.set_env("PATH", &format!("{}:{path}", bin.display()));
}

#[test]
#[cfg(target_os = "linux")]
fn the_desktop_shows_it_where_there_is_one() {
    let mut project = project(&["a"], "desktop = true");
    with_notify_send(&mut project);
    let output = project.ok(&["run"]);
    assert_eq!(output.stderr, "", "no desktop is no trouble");
    assert!(!project.path("shown.txt").exists());
    project.set_env("WAYLAND_DISPLAY", "wayland-0");
    project.ok(&["run"]);
    let shown = project.read("shown.txt");
    assert!(shown.contains("--\nwork: every task is done, some unverified\n"), "{shown}");
}

#[test]
fn a_demo_tells_nobody() {
    let mut project = Project::empty();
    let told = project.path("told");
    let command = format!("touch '{}'", told.display());
    project.set_env("RALPH_SET_NOTIFY_COMMAND", &command);
    project.ok(&["demo", "--fast", "--dir", "demo"]);
    assert!(!told.exists());
}

#[test]
fn a_test_says_for_every_way_whether_it_worked() {
    let receiver = Receiver::answering(&[Answer::Status(200), Answer::Status(403)]);
    let project = with_webhook(&[], &receiver, "command = \"cat > got.json\"\nbell = true\non = [\"done\"]");
    let output = without_terminal(&project, &["notify", "test", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let all: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(all["ok"], true);
    let row = |nth: usize, name: &str| all["senders"][nth][name].clone();
    assert_eq!(row(0, "sender"), "webhook");
    assert_eq!(row(0, "result"), "sent");
    assert!(row(0, "target").as_str().unwrap().ends_with("/…"));
    assert_eq!(row(1, "sender"), "command");
    assert_eq!((row(2, "sender"), row(2, "result")), (json!("bell"), json!("nowhere")));
    let got: Value = serde_json::from_str(&project.read("got.json")).unwrap();
    assert_eq!(got, receiver.notices()[0]);
    assert!(got["title"].as_str().unwrap().starts_with("Test: "), "{got}");
    let args = ["notify", "test", "--occasion", "breaker"];
    let output = project.ralph(&args).expect_code(1);
    assert!(output.stdout.contains("HTTP 403"), "{}", output.stdout);
    assert!(output.stdout.contains("command: sent"), "{}", output.stdout);
    assert!(output.stderr.contains("`breaker`"), "{}", output.stderr);
    assert_eq!(receiver.posts()[1].header("x-ralph-event"), "breaker");
}

#[test]
fn a_test_of_nothing_says_what_to_set() {
    let project = Project::new();
    let output = project.ralph(&["notify", "test"]).expect_code(2);
    assert!(output.stderr.contains("[notify]"), "{}", output.stderr);
}
