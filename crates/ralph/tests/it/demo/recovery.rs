//! `ralph demo --recovery`: a failure, its fix, the fix of that, and the files that tell of it.

use std::path::Path;
use std::process::Command;

use expectrl::{Eof, Expect};
use serde_json::{Value, json};

use super::surroundings::{path_with, program};
use super::{gates_pass, outcomes};
use crate::support::{Output, Project};

const GATES: [&str; 4] = ["words", "greet", "build", "readme"];
const NO_FILE: &str = "words/en.txt: no such file";
const NO_END: &str = "syntax error in greeter: unterminated quote";

/// An empty directory in which `ralph demo --recovery --fast` made its project and ran.
fn demo() -> (Project, Output) {
    let project = Project::empty();
    let output = project.ok(&["demo", "--recovery", "--fast", "--dir", "."]);
    (project, output)
}

/// The tasks in the order in which attempts were made, with what came of each.
fn order(project: &Project) -> Vec<String> {
    let told =
        |(key, outcome, _): (String, Value, Value)| format!("{key} {}", outcome.as_str().unwrap_or_default());
    outcomes(project).into_iter().map(told).collect()
}

const ORDER: [&str; 8] = [
    "1.1 done",
    "1.2 done",
    "2.1 failed",
    "2.1.1 failed",
    "2.1.1.1 done",
    "2.1.1 done",
    "2.1 done",
    "2.2 done",
];

#[test]
fn a_task_and_its_fix_fail_and_the_fix_of_the_fix_fixes_both() {
    let (project, output) = demo();
    assert_eq!(order(&project), ORDER);
    gates_pass(&project.root(), "sh", &GATES);
    for told in [
        "Ralph demo: recovery",
        "Scratch project: ",
        "+ 2.1.1 Fix: words/en.txt: no such file  (runs before 2.1 is retried)\n",
        "8 attempts, ",
        "6 of 6 done (6 verified)\n",
        "What you just saw\n\
         \x20 2.1      ✗ words/en.txt: no such file\n\
         \x20 2.1.1    ✗ syntax error in greeter: unterminated quote\n\
         \x20 2.1.1.1  ✓ gate passed\n\
         \x20 2.1.1    ✓ gate passed\n\
         \x20 2.1      ✓ gate passed\n",
        "Open these",
        "Explore the project",
        "git diff specs",
        "Use it in your own project\n  ralph init\n  ralph import specs/NAME",
        "ralph run --recovery",
    ] {
        assert!(output.stdout.contains(told), "{told}\n{}", output.stdout);
    }
    for file in ["tasks.md", ".progress.md", ".ralph-state.json"] {
        let path = project.root().canonicalize().unwrap();
        let path = path.join("specs/greeter").join(file);
        let line = format!("\n  {}\n", path.display());
        assert!(output.stdout.contains(&line), "{line}\n{}", output.stdout);
        assert!(path.is_file(), "{line}");
    }
    assert!(!output.stdout.contains('\u{1b}'), "{:?}", output.stdout);
    assert_eq!(output.stderr, "");
}

#[test]
fn the_files_of_the_spec_tell_what_happened() {
    let (project, _) = demo();
    let tasks = project.read("specs/greeter/tasks.md");
    let boxes: Vec<&str> = tasks.lines().filter(|l| l.starts_with("- [")).collect();
    assert_eq!(
        boxes,
        [
            "- [x] 1.1 Look up greetings",
            "- [x] 1.2 Greet by name",
            "- [x] 2.1 Build one script",
            &format!("- [x] 2.1.1 [FIX 2.1] Fix: {NO_FILE}"),
            &format!("- [x] 2.1.1.1 [FIX 2.1.1] Fix: {NO_END}"),
            "- [x] 2.2 Document it",
        ]
    );
    let log = project.read("specs/greeter/.progress.md");
    for line in [
        "- Task 2.1.1: 1 fix attempted (2.1.1.1) - Final: PASS\n",
        "- Task 2.1: 1 fix attempted (2.1.1) - Final: PASS\n",
        &format!("- Task 2.1 failed: {NO_FILE}\n"),
        &format!("- Task 2.1.1 failed: {NO_END}\n"),
        "- [x] 2.1 Build one script - ",
    ] {
        assert!(log.contains(line), "{line}\n{log}");
    }
    let state = project.read("specs/greeter/.ralph-state.json");
    let state: Value = serde_json::from_str(&state).unwrap();
    let fixed = |fix: &str, error: &str| json!({"attempts": 1, "fixTaskIds": [fix], "lastError": error});
    assert_eq!(
        state["fixTaskMap"],
        json!({"2.1": fixed("2.1.1", NO_FILE), "2.1.1": fixed("2.1.1.1", NO_END)})
    );
    assert_eq!(state["totalTasks"], json!(6));
}

#[test]
fn the_agent_commits_as_the_plan_says_and_leaves_ralphs_files_to_people() {
    let (project, _) = demo();
    let log = project.git(&["log", "--reverse", "--format=%s"]);
    let subjects: Vec<&str> = log.lines().collect();
    assert_eq!(
        subjects,
        [
            "Start a greeter",
            "feat(greeter): look up greetings",
            "feat(greeter): greet by name",
            "feat(greeter): build one script",
            "fix(greeter): address missing file from task 2.1",
            "fix(greeter): address syntax from task 2.1.1",
            "docs(greeter): document it",
        ]
    );
    let tasks = project.read("specs/greeter/tasks.md");
    for subject in &subjects[1..] {
        assert!(tasks.contains(&format!("  - **Commit**: `{subject}`\n")), "{subject}\n{tasks}");
    }
    assert_eq!(
        project.git(&["status", "--porcelain"]),
        " M specs/greeter/tasks.md\n?? AGENTS.md\n?? specs/greeter/.progress.md\n?? specs/greeter/.ralph-state.json\n"
    );
}

/// What the gate of 2.1 says where the project stands as a commit left it.
fn gate_at(project: &Project, commit: &str) -> (bool, String) {
    project.git(&["checkout", "-q", commit, "--", "build.sh"]);
    let output = Command::new("sh").arg("tests/build.sh").current_dir(project.root()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.success(), said)
}

#[test]
fn the_gate_fails_before_the_fixes_and_passes_after_them() {
    let (project, _) = demo();
    let failed = |what: &str| (false, format!("FAIL: {what}\n"));
    assert_eq!(gate_at(&project, "HEAD~3"), failed(NO_FILE));
    assert_eq!(gate_at(&project, "HEAD~2"), failed(NO_END));
    assert!(gate_at(&project, "HEAD~1").0);
}

#[test]
fn every_command_the_tour_names_works_there_afterwards() {
    let (project, _) = demo();
    for (command, told) in [
        (vec!["status"], "6 of 6 done"),
        (vec!["history"], "2.1.1.1"),
        (vec!["failures", "list"], NO_END),
        (vec!["context", "2.1.1"], "### Failure to Fix"),
        (vec!["logs", "2.1.1", "--attempt", "1"], "Task 2.1.1: Fix: words/en.txt: no such file FAILED"),
        (vec!["logs", "2.1.1.1"], "My prompt says what to fix: syntax error"),
        (vec!["import", "specs/greeter", "--dry-run"], "0 tasks would be added"),
    ] {
        let output = project.ok(&command);
        assert!(output.stdout.contains(told), "{command:?}\n{}", output.stdout);
    }
    let diff = project.git(&["diff", "specs"]);
    assert!(diff.contains("\n+- [x] 2.1.1.1 [FIX 2.1.1] "), "{diff}");
    project.ok(&["task", "reset", "2.1"]);
    project.ok(&["run"]);
    assert_eq!(order(&project)[8..], ["2.1 done"]);
    // A later run recovers too, as the project's settings say.
    project.git(&["checkout", "-q", "HEAD~3", "--", "build.sh"]);
    project.ok(&["task", "reset", "2.1"]);
    project.ok(&["run"]);
    assert_eq!(
        order(&project)[9..],
        ["2.1 failed", "2.1.2 failed", "2.1.2.1 done", "2.1.2 done", "2.1 done"]
    );
}

#[test]
fn it_is_one_story_or_the_other() {
    let project = Project::empty();
    let output = project.ralph(&["demo", "--recovery", "--broken"]).expect_code(2);
    assert!(output.stderr.contains("cannot be used with"), "{}", output.stderr);
    let help = project.ok(&["demo", "--help"]).stdout;
    assert!(help.contains("--recovery") && help.contains("specs/greeter/tasks.md"), "{help}");
}

#[test]
fn quiet_and_json_are_as_in_the_other_stories() {
    let project = Project::empty();
    let output = project.ok(&["demo", "--recovery", "--fast", "--quiet", "--dir", "quiet"]);
    assert!(Path::new(output.text()).ends_with("quiet"), "{}", output.stdout);
    let output = project.ok(&["demo", "--recovery", "--fast", "--json", "--dir", "json"]);
    let events = output.json_lines();
    let fixes: Vec<&Value> =
        events.iter().filter(|event| event["type"] == "fix_created").map(|event| &event["fix"]).collect();
    assert_eq!(fixes, ["2.1.1", "2.1.1.1"]);
    assert_eq!(events.last().unwrap()["exit_code"], json!(0));
}

/// What a terminal of so many columns shows.
fn on_screen(project: &Project, columns: u16) -> String {
    let mut session = project.in_terminal(&["demo", "--recovery", "--fast", "--dir", "."], columns);
    let end = session.expect(Eof).unwrap();
    String::from_utf8_lossy(end.as_bytes()).into_owned()
}

#[test]
fn in_a_terminal_colours_and_width_are_respected() {
    let tour = |screen: &str| screen.split("What you just saw").nth(1).unwrap().to_owned();
    let mut project = Project::empty();
    project.set_env("TERM", "xterm-256color");
    let screen = on_screen(&project, 100);
    assert!(tour(&screen).contains("\u{1b}["), "{screen}");

    let mut project = Project::empty();
    project.set_env("TERM", "xterm-256color");
    project.set_env("NO_COLOR", "1");
    let tour = tour(&on_screen(&project, 60));
    assert!(!tour.contains("\u{1b}["), "{tour:?}");
    let is_path = |line: &str| line.trim_start().split(' ').any(|word| word.contains("/specs/"));
    for line in tour.lines().filter(|line| !is_path(line)) {
        let width = line.trim_end().chars().count();
        // What has no spaces cannot be broken.
        assert!(width <= 60 || !line.trim().contains(' '), "{line:?}");
    }
    assert_eq!(order(&project), ORDER);
}

#[test]
fn it_works_without_git_and_with_every_shell() {
    for shell in ["dash", "busybox", "bash"] {
        let Some(found) = program(shell) else {
            continue;
        };
        let mut project = Project::empty();
        let bin = project.root().with_file_name("bin");
        let path = path_with(bin.clone(), &["cat"]);
        // Busybox and bash see by this name that they are to be `sh`.
        std::os::unix::fs::symlink(found, bin.join("sh")).unwrap();
        project.set_env("PATH", &path);
        let output = project.ok(&["demo", "--recovery", "--fast", "--dir", "."]);
        assert!(output.stderr.contains("git is not installed"), "{}", output.stderr);
        assert!(!output.stdout.contains("  git "), "{}", output.stdout);
        assert_eq!(order(&project), ORDER, "{shell}");
        gates_pass(&project.root(), bin.join("sh").to_str().unwrap(), &GATES);
    }
}
