//! `ralph demo`: a new user's first minute.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Output, Project};

const GATES: [&str; 5] = ["store", "list", "count", "done", "command"];

/// An empty directory in which `ralph demo --fast` made its project and ran.
fn demo() -> (Project, Output) {
    let project = Project::empty();
    let output = project.ralph(&["demo", "--fast", "--dir", "."]);
    let output = output.expect_code(0);
    (project, output)
}

/// Runs every gate of the plan by hand with this shell.
#[track_caller]
fn gates_pass(root: &Path, shell: &str) {
    for gate in GATES {
        let test = format!("tests/{gate}.sh");
        let output = Command::new(shell)
            .arg(&test)
            .current_dir(root)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{shell} {test}\n{said}");
    }
}

fn outcomes(project: &Project) -> Vec<(String, Value, Value)> {
    let of = |attempt: Value| {
        (
            attempt["key"].as_str().unwrap().to_owned(),
            attempt["outcome"].clone(),
            attempt["error_type"].clone(),
        )
    };
    project.history().into_iter().map(of).collect()
}

/// A `PATH` with these programs and no others.
fn path_with(dir: PathBuf, programs: &[&str]) -> String {
    fs::create_dir_all(&dir).unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    for program in programs {
        let found = std::env::split_paths(&path)
            .map(|dir| dir.join(program))
            .find(|file| file.is_file());
        symlink(found.unwrap(), dir.join(program)).unwrap();
    }
    dir.to_str().unwrap().to_owned()
}

#[test]
fn demo_01_five_tasks_are_done_and_one_of_them_at_the_second_try() {
    let (project, output) = demo();
    let done = |key: &str| (key.to_owned(), json!("done"), Value::Null);
    let failed = ("2.1".to_owned(), json!("failed"), json!("test_failure"));
    assert_eq!(
        outcomes(&project),
        [
            done("1.1"),
            done("1.2"),
            failed,
            done("2.1"),
            done("2.2"),
            done("3.1")
        ]
    );
    let status = project.json(&["status", "--json"]);
    assert_eq!(status["tasks"]["done"], json!(5), "{status}");
    gates_pass(&project.root(), "sh");
    for file in [
        "README.md",
        "todo.sh",
        "lib/store.sh",
        "lib/list.sh",
        "lib/count.sh",
        "lib/done.sh",
    ] {
        assert!(project.path(file).is_file(), "{file}");
    }
    for told in [
        "Scratch project: ",
        "5 of 5 done",
        "What you just saw",
        "FAIL: count of an empty list: expected '0', got '1'",
        "Look around",
        "ralph context 2.1",
        "ralph task reset 2.1 && ralph run",
        "In your own project",
    ] {
        assert!(output.stdout.contains(told), "{told}\n{}", output.stdout);
    }
    assert_eq!(output.stderr, "");
}

#[test]
fn demo_02_the_agent_commits_and_leaves_a_clean_tree() {
    let (project, _) = demo();
    let log = project.git(&["log", "--reverse", "--format=%an <%ae> %s"]);
    let subjects: Vec<&str> = log
        .lines()
        .map(|line| {
            line.strip_prefix("Ralph demo <demo@localhost> ")
                .unwrap_or(line)
        })
        .collect();
    assert_eq!(
        subjects,
        [
            "Start a to-do list",
            "Keep the list in a file",
            "Show the list with numbers",
            "Count what is left",
            "Count an empty list right",
            "Tick items off",
            "Make it a command"
        ]
    );
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    let changed = &project.history()[2]["files_changed"];
    assert_eq!(changed, &json!(["lib/count.sh"]));
}

#[test]
fn demo_03_every_command_it_names_works_there_afterwards() {
    let (project, _) = demo();
    for (command, told) in [
        (vec!["status"], "5 of 5 done"),
        (vec!["history"], "test_failure"),
        (
            vec!["context", "2.1"],
            "FAIL: count of an empty list: expected '0', got '1'",
        ),
        (
            vec!["logs", "2.1"],
            "My prompt says of the last attempt: FAIL: ",
        ),
        (
            vec!["logs", "2.1", "--attempt", "1"],
            "That was simple; it needs no test.",
        ),
        (vec!["task", "list"], "Count what is left"),
    ] {
        let output = project.ok(&command);
        assert!(
            output.stdout.contains(told),
            "{command:?}\n{}",
            output.stdout
        );
    }
    project.ok(&["task", "reset", "2.1"]);
    project.ok(&["run"]);
    // What it remembers of the first time keeps it from the same mistake.
    let attempts = outcomes(&project);
    assert_eq!(attempts.len(), 7);
    assert_eq!(attempts[6], ("2.1".to_owned(), json!("done"), Value::Null));
    gates_pass(&project.root(), "sh");
}

#[test]
fn demo_04_a_retry_that_is_told_nothing_fails_again() {
    let (project, _) = demo();
    project
        .database()
        .execute_batch("DELETE FROM failure_reports; DELETE FROM iteration_outcomes;")
        .unwrap();
    project.ok(&["task", "reset", "2.1"]);
    project.ralph(&["run", "--once"]).expect_code(4);
    assert_eq!(outcomes(&project)[0].1, json!("failed"));
    project.ok(&["run"]);
    assert_eq!(project.status_of("2.1"), "done");
}

#[test]
fn demo_05_a_task_of_the_users_own_goes_to_a_person_with_an_explanation() {
    let (project, _) = demo();
    project.add(&["Something else", "--key", "4.1"]);
    project.ralph(&["run"]).expect_code(5);
    let task = project.task("4.1");
    assert_eq!(task["status"], json!("blocked"));
    let reason = task["reason"].as_str().unwrap();
    assert!(reason.contains("needs a real agent"), "{reason}");
}

#[test]
fn demo_06_a_directory_with_something_in_it_is_refused_and_left_alone() {
    let project = Project::empty();
    project.write("full/precious.txt", "mine");
    for dir in ["full", "full/precious.txt"] {
        let output = project.ralph(&["demo", "--dir", dir]).expect_code(2);
        assert!(output.stderr.contains("new or empty"), "{}", output.stderr);
    }
    let names: Vec<_> = fs::read_dir(project.path("full")).unwrap().collect();
    assert_eq!(names.len(), 1);
    assert_eq!(project.read("full/precious.txt"), "mine");
}

#[test]
fn demo_07_without_a_directory_it_makes_one_that_stays() {
    let mut project = Project::empty();
    let temporary = project.path("tmp dir");
    fs::create_dir(&temporary).unwrap();
    project.set_env("TMPDIR", temporary.to_str().unwrap());
    let output = project.ok(&["demo", "--fast", "--quiet"]);
    let root = Path::new(output.text());
    assert_eq!(root.parent(), Some(temporary.as_path()));
    let name = root.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("ralph-demo-"), "{name}");
    gates_pass(root, "sh");
    assert!(!project.path(".ralph").exists());
}

#[test]
fn demo_08_json_is_events_and_nothing_else() {
    let project = Project::empty();
    let output = project.ok(&["demo", "--fast", "--json", "--dir", "new/deep"]);
    let events = output.json_lines();
    let finished = |event: &&Value| event["type"] == json!("attempt_finished");
    assert_eq!(events.iter().filter(finished).count(), 6);
    assert_eq!(events.last().unwrap()["type"], json!("run_finished"));
    assert_eq!(events.last().unwrap()["exit_code"], json!(0));
    assert!(output.stderr.contains("new/deep"), "{}", output.stderr);
}

#[test]
fn demo_09_it_works_without_git() {
    let mut project = Project::empty();
    let path = path_with(
        project.root().with_file_name("bin"),
        &["sh", "cat", "mv", "rm", "wc"],
    );
    project.set_env("PATH", &path);
    let output = project
        .ralph(&["demo", "--fast", "--dir", "."])
        .expect_code(0);
    assert!(
        output.stderr.contains("git is not installed"),
        "{}",
        output.stderr
    );
    assert!(!output.stdout.contains("git log"), "{}", output.stdout);
    assert_eq!(outcomes(&project).len(), 6);
    assert!(!project.path(".git").exists());
    gates_pass(&project.root(), "sh");
}

#[test]
fn demo_10_every_shell_there_is_will_do() {
    for shell in ["dash", "busybox", "bash"] {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&path)
            .map(|dir| dir.join(shell))
            .find(|file| file.is_file());
        let Some(found) = found else { continue };
        let mut project = Project::empty();
        let bin = project.root().with_file_name("bin");
        let path = path_with(bin.clone(), &["cat", "mv", "rm", "wc"]);
        // Busybox and bash see by this name that they are to be `sh`.
        symlink(found, bin.join("sh")).unwrap();
        project.set_env("PATH", &path);
        project
            .ralph(&["demo", "--fast", "--dir", "."])
            .expect_code(0);
        gates_pass(&project.root(), bin.join("sh").to_str().unwrap());
    }
}

#[test]
fn demo_11_nothing_around_it_upsets_it() {
    let mut project = Project::empty();
    let outside = project.path("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(
        project.root().with_file_name("home").join(".gitconfig"),
        "[commit]\n gpgsign = true\n[gpg]\n program = /bin/false\n[core]\n hooksPath = /nowhere\n",
    )
    .unwrap();
    // As in a git hook, in another project's attempt, with settings meant for other projects.
    project.set_env("GIT_INDEX_FILE", outside.join("index").to_str().unwrap());
    project.set_env("RALPH_RUN_ID", "r-outside");
    project.set_env("RALPH_SET_RUN_AGENT", "no-such-agent");
    project.set_env("RALPH_SET_RUN_LIMIT", "1");
    let output = project.ok(&["demo", "--fast", "--dir", "it's a demo"]);
    assert!(
        output.stdout.contains("cd '/") && output.stdout.contains("/it'\\''s a demo'"),
        "{}",
        output.stdout
    );
    assert_eq!(output.stderr, "");
    assert_eq!(fs::read_dir(outside).unwrap().count(), 0);
}

#[test]
fn demo_12_the_agent_by_hand_says_what_it_is_for() {
    let project = Project::empty();
    let output = project.ralph(&["demo-agent"]).expect_code(2);
    assert!(output.stderr.contains("`ralph demo`"), "{}", output.stderr);
    assert!(!project.ok(&["help"]).stdout.contains("demo-agent"));
}
