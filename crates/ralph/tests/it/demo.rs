//! `ralph demo`: a new user's first minute.

mod recovery;
mod surroundings;

use std::path::Path;
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

/// Runs every gate of a plan by hand with this shell.
#[track_caller]
fn gates_pass(root: &Path, shell: &str, gates: &[&str]) {
    for gate in gates {
        let test = format!("tests/{gate}.sh");
        let output = Command::new(shell).arg(&test).current_dir(root).output().unwrap();
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

/// The id of the one learning.
fn learnt(project: &Project) -> String {
    let learnings = project.json(&["learnings", "list", "--json"]);
    let ids: Vec<&str> =
        learnings.as_array().unwrap().iter().flat_map(|learning| learning["id"].as_str()).collect();
    assert_eq!(ids.len(), 1, "{learnings}");
    ids.concat()
}

#[test]
fn demo_01_five_tasks_are_done_and_one_of_them_at_the_second_try() {
    let (project, output) = demo();
    let done = |key: &str| (key.to_owned(), json!("done"), Value::Null);
    let failed = ("2.1".to_owned(), json!("failed"), json!("test_failure"));
    assert_eq!(outcomes(&project), [done("1.1"), done("1.2"), failed, done("2.1"), done("2.2"), done("3.1")]);
    let status = project.json(&["status", "--json"]);
    assert_eq!(status["tasks"]["done"], json!(5), "{status}");
    gates_pass(&project.root(), "sh", &GATES);
    for file in ["README.md", "todo.sh", "lib/store.sh", "lib/list.sh", "lib/count.sh", "lib/done.sh"] {
        assert!(project.path(file).is_file(), "{file}");
    }
    for told in [
        "Scratch project: ",
        "5 of 5 done (5 verified)",
        "What you just saw",
        "FAIL: count of an empty list: expected '0', got '1'",
        "put into the prompt of 2.2:\n    `printf '%s\\n' \"$x\" | wc -l` prints 1 for an empty list",
        "So 2.2, which has the same pitfall, passed at the first attempt.",
        "Explore the project",
        "ralph failures list",
        "ralph learnings list",
        "ralph context 2.1",
        "ralph task reset 2.1 && ralph run",
        "Use it in your own project",
    ] {
        assert!(output.stdout.contains(told), "{told}\n{}", output.stdout);
    }
    assert_eq!(output.stderr, "");
}

#[test]
fn demo_02_the_agent_commits_and_leaves_a_clean_tree() {
    let (project, _) = demo();
    let log = project.git(&["log", "--reverse", "--format=%an <%ae> %s"]);
    let subjects: Vec<&str> =
        log.lines().map(|line| line.strip_prefix("Ralph demo <demo@localhost> ").unwrap_or(line)).collect();
    assert_eq!(
        subjects,
        [
            "Start a to-do list",
            "Store the list in a file",
            "Show the list with numbers",
            "Count open items",
            "Fix the count of an empty list",
            "Mark items as done",
            "Add the todo command"
        ]
    );
    // What Ralph itself writes for people is theirs to commit.
    assert_eq!(project.git(&["status", "--porcelain"]), "?? AGENTS.md\n");
    let changed = &project.history()[2]["files_changed"];
    assert_eq!(changed, &json!(["lib/count.sh"]));
}

#[test]
fn demo_03_every_command_it_names_works_there_afterwards() {
    let (project, _) = demo();
    for (command, told) in [
        (vec!["status"], "5 of 5 done"),
        (vec!["history"], "gate failed"),
        (vec!["failures", "list"], "FAIL: count of an empty list: expected '0', got '1'"),
        (vec!["learnings", "list"], "prints 1 for an empty list"),
        (vec!["context", "2.1"], "FAIL: count of an empty list: expected '0', got '1'"),
        (vec!["logs", "2.1"], "My prompt says why the last attempt failed: FAIL: "),
        (vec!["logs", "2.1", "--attempt", "1"], "That was simple, so I did not run the test."),
        (vec!["logs", "2.2"], "A learning in my prompt says: `printf '%s\\n' \"$x\" | wc -l` prints 1"),
        (vec!["task", "list"], "Count open items"),
    ] {
        let output = project.ok(&command);
        assert!(output.stdout.contains(told), "{command:?}\n{}", output.stdout);
    }
    project.ok(&["task", "reset", "2.1"]);
    project.ok(&["run"]);
    // What it remembers of the first time keeps it from the same mistake.
    let attempts = outcomes(&project);
    assert_eq!(attempts.len(), 7);
    assert_eq!(attempts[6], ("2.1".to_owned(), json!("done"), Value::Null));
    gates_pass(&project.root(), "sh", &GATES);
}

#[test]
fn demo_04_a_retry_that_is_told_nothing_fails_again() {
    let (project, _) = demo();
    project.ok(&["learnings", "prune", &learnt(&project)]);
    project.database().execute_batch("DELETE FROM failure_reports; DELETE FROM iteration_outcomes;").unwrap();
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
fn demo_12_the_agent_by_hand_says_what_it_is_for() {
    let project = Project::empty();
    let output = project.ralph(&["demo-agent"]).expect_code(2);
    assert!(output.stderr.contains("`ralph demo`"), "{}", output.stderr);
    assert!(!project.ok(&["help"]).stdout.contains("demo-agent"));
}

#[test]
fn demo_13_the_learning_of_one_task_keeps_another_from_its_mistake() {
    let (project, _) = demo();
    let learnt = learnt(&project);
    let history = project.history();
    let shown = |attempt: &Value| attempt["learnings_shown"].as_array().unwrap().clone();
    assert_eq!(history[4]["key"], json!("2.2"));
    assert_eq!(shown(&history[4]), [json!(learnt)]);

    // Without it the task goes wrong, and its own report has to do.
    project.ok(&["learnings", "prune", &learnt]);
    project.ok(&["task", "reset", "2.2"]);
    project.ralph(&["run", "--once"]).expect_code(4);
    let failed = project.history().pop().unwrap();
    assert_eq!(failed["outcome"], json!("failed"), "{failed}");
    assert_eq!(shown(&failed), Vec::<Value>::new());
    let message = failed["message"].as_str().unwrap();
    assert!(message.contains("FAIL: an empty list has no item 1: expected '1', got '0'"), "{message}");
    project.ok(&["run"]);
    assert_eq!(project.status_of("2.2"), "done");
    gates_pass(&project.root(), "sh", &GATES);
}
