//! Notes from the user: which attempt is told what, and attempts that end for a note.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Background, Following, Project, eventually};

/// An agent that keeps the prompt of its Nth session as `prompt.N`, does what `session.N` says and reports done.
fn project() -> Project {
    let project = Project::new();
    project.agent(
        "n=$(($(cat count 2>/dev/null || echo 0) + 1)); echo $n > count; cp .ralph/last-prompt prompt.$n\n\
         touch began.$n; [ ! -f session.$n ] || . ./session.$n\necho TASK_COMPLETE",
    );
    project.set("gate", "baseline = \"off\"");
    project
}

fn notes(project: &Project, task: &str) -> Vec<(String, Value)> {
    let notes = project.json(&["note", task, "--json"]);
    let state = |note: &Value| (note["state"].as_str().unwrap().to_owned(), note["attempt"].clone());
    notes.as_array().unwrap().iter().map(state).collect()
}

#[test]
fn a_note_ends_the_attempt_in_its_session_and_in_its_gate_and_is_told_in_the_next() {
    for (place, session, gate) in
        [("began.1", "sleep 600", "true"), ("gating", "", "[ -f prompt.2 ] || { touch gating; sleep 600; }")]
    {
        let project = project();
        project.write("session.1", session);
        project.add(&["A", "--key", "a", "--verify", gate]);
        let run = Following::start(&project, &["run", "--json"]);
        eventually(place, || project.path(place).exists());
        let told = project.ok(&["note", "a", "--now", "use the parser"]).stdout;
        assert!(told.contains("ends attempt 1 (not counted) and retries with the note"), "{told}");
        let (events, errors, code) = run.end();
        assert_eq!(code, 0, "{place}: {events}{errors}");
        let history = project.history();
        let attempts = history.iter().filter(|row| row["kind"] == "task");
        let attempts: Vec<_> = attempts.map(|row| (row["counted"].clone(), row["outcome"].clone())).collect();
        assert_eq!(attempts, [(json!(false), json!("error")), (json!(true), json!("done"))], "{place}");
        assert!(project.read("prompt.2").contains("### Note from the user\n\nuse the parser"), "{place}");
        assert!(!project.read("prompt.1").contains("use the parser"));
        assert_eq!(notes(&project, "a"), [("shown".to_owned(), json!(1))]);
        let retries = project.json(&["stats", "--json"])["escalation"].clone();
        assert_eq!(
            (&retries["after_note"]["attempts"], &retries["after_note"]["done"]),
            (&json!(1), &json!(1))
        );
        // The run shows the note itself, and its numbers grow.
        let events: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let numbers: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "{place}: {numbers:?}");
        let noted: Vec<_> = events.iter().filter(|event| event["type"] == "note_added").collect();
        assert_eq!(noted.len(), 1, "{place}");
        assert_eq!((&noted[0]["now"], &noted[0]["note"]), (&json!(true), &json!("use the parser")));
    }
}

#[test]
fn a_note_that_comes_after_the_gate_is_for_the_next_attempt() {
    let project = project();
    let review = "cat >/dev/null; touch reviewing; until [ -f go ]; do sleep 0.05; done";
    project.write("review.sh", &format!("{review}; echo '<review-verdict>accept</review-verdict>'"));
    project.configure(
        "[review]\nagent = \"critic\"\nwhen = \"always\"\n\n[agents.critic]\nkind = \"command\"\ncommand = [\"sh\", \"review.sh\"]",
    );
    project.add(&["A", "--key", "a", "--verify", "true"]);
    let run = Background(project.start(&["run"]));
    eventually("the review", || project.path("reviewing").exists());
    let told = project.ok(&["note", "a", "--now", "too late"]);
    let (out, hint) = (told.stdout, told.stderr);
    assert!(out.contains("note for the next attempt"), "{out}");
    assert!(hint.contains("attempt 1 is already past its gate"), "{hint}");
    project.write("go", "");
    run.expect_success();
    assert_eq!(project.status_of("a"), "done");
    assert_eq!(notes(&project, "a")[0].0, "queued");
}

#[test]
fn a_note_is_told_again_after_a_crash_and_to_the_parts_of_a_split_task() {
    let project = project();
    project.write("session.1", "sleep 600");
    let split = json!({"type": "SPLIT_TASK", "originalTaskId": "1.1", "reasoning": "Too large.", "proposedTasks": [
        {"title": "First half", "verify": "test 2 = 2"}, {"title": "Second half", "verify": "test 3 = 3"}]});
    project.write("split", &format!("TASK_MODIFICATION_REQUEST\n```json\n{split:#}\n```\n"));
    project.write("session.2", "cat split; exit 0");
    project.write("tasks.md", "# Tasks\n\n- [ ] 1.1 Large\n  - **Verify**: `test 1 = 1`\n");
    project.ok(&["import", "tasks.md"]);
    project.ok(&["note", "1.1", "keep the tests"]);
    let run = Background(project.start(&["run"]));
    eventually("the first session", || project.path("began.1").exists());
    assert_eq!(notes(&project, "1.1"), [("shown".to_owned(), json!(1))]);
    let killed = Command::new("kill").args(["-KILL", &run.0.id().to_string()]).status();
    assert!(killed.unwrap().success());
    drop(run);
    // Before the next run has found the crash, too.
    assert_eq!(notes(&project, "1.1"), [("queued".to_owned(), json!(1))]);
    assert!(project.ok(&["task", "show", "1.1"]).stdout.contains("(queued)"));
    assert!(project.ok(&["context", "1.1"]).stdout.contains("keep the tests"));
    project.ok(&["run"]);
    let sections = (1..=4).map(|n| project.read(&format!("prompt.{n}")).contains("keep the tests"));
    assert_eq!(sections.collect::<Vec<_>>(), [true; 4], "lost, split, and both halves");
}

#[test]
fn a_person_is_told_what_keeps_a_note_from_being_read() {
    let project = project();
    for key in ["a", "b"] {
        project.add(&[key, "--key", key]);
    }
    project.add(&["child", "--key", "c", "--parent", "b"]);
    project.ok(&["task", "skip", "a"]);
    let long = "x".repeat(2001);
    for (args, code, says) in [
        (&["note", "a", "text"][..], 0, "to have it attempted again: ralph task reset a"),
        (&["note", "a", "text", "--now"], 0, "no attempt is under way"),
        (&["note", "b", "text"], 2, "tell one of them: ralph note c"),
        (&["note", "a", " "], 2, "the note is empty"),
        (&["note", "a", &long], 2, "at most 2000 are allowed"),
        (&["note", "nobody", "text"], 2, "nobody"),
    ] {
        let told = project.ralph(args).expect_code(code);
        assert!(told.stderr.contains(says), "{args:?}: {}", told.stderr);
    }
    project.ok(&["note", "a", "two\nlines"]);
    let table = project.ok(&["note", "a"]).stdout;
    assert!(table.lines().any(|line| line.contains("two lines")), "{table}");
}
