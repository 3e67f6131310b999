//! The plan from the command line.

use serde_json::{Value, json};

use crate::support::Project;

#[test]
fn plan_01_id_and_key_name_the_same_task() {
    let project = Project::new();
    let id = project.add(&["Write the parser", "--key", "1.3"]);
    assert!(id.len() == 8 && id.starts_with("t-"), "{id}");
    assert_eq!(project.task("1.3")["id"], json!(id));
    assert_eq!(project.task(&id)["key"], json!("1.3"));
    let other = project.add(&["Other", "--after", "1.3"]);
    assert_eq!(project.task(&other)["depends_on"], json!([id]));
}

#[test]
fn task_list_json_has_the_fields_of_the_contract() {
    let project = Project::new();
    let parent = project.add(&["Parent"]);
    let first = project.add(&["First", "--parent", &parent]);
    let id = project.add(&[
        "Second",
        "-d",
        "Do it\nwell",
        "--key",
        "2.1",
        "--phase",
        "05",
        "--parent",
        &parent,
        "--after",
        &first,
        "--verify",
        "true",
        "--files",
        "a.rs, b.rs",
        "--priority",
        "3",
        "--model",
        "opus",
    ]);
    let list = project.json(&["task", "list", "--json"]);
    let task = list.as_array().unwrap().iter().find(|task| task["id"] == json!(id)).unwrap();
    let mut expected = json!({
        "id": id, "key": "2.1", "title": "Second", "description": "Do it\nwell", "status": "pending",
        "phase": 5, "parent_id": parent, "depends_on": [first], "priority": 3, "verify": "true",
        "files": ["a.rs", "b.rs"], "attempts": 0, "verified": false, "done_by": null, "verification": null, "consecutive_failures": 0, "needs_human": false,
    });
    for time in ["created_at", "updated_at"] {
        let text = task[time].as_str().unwrap();
        assert!(text.ends_with('Z') && text.contains('T'), "{text}");
        expected[time] = task[time].clone();
    }
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(&task[field], value, "{field}");
    }
    assert_eq!(list[0]["verify"], Value::Null);
    assert_eq!(list[0]["phase"], Value::Null);
}

#[test]
fn plan_02_refusals_name_the_offenders_and_change_nothing() {
    let project = Project::new();
    let a = project.add(&["A", "--key", "a"]);
    let b = project.add(&["B", "--key", "b", "--after", "a"]);
    let before = project.ok(&["task", "list", "--json"]).stdout;
    let refused = |args: &[&str], named: &[&str]| {
        let output = project.ralph(args);
        assert_eq!(output.code, 2, "{args:?} {output:?}");
        for name in named {
            assert!(output.stderr.contains(name), "{args:?}: {}", output.stderr);
        }
        assert_eq!(output.stdout, "");
    };
    refused(&["task", "deps", "add", "a", "b"], &["a → b → a"]);
    refused(&["task", "deps", "add", &a, &b], &["cycle"]);
    refused(&["task", "add", "x", "--key", "b"], &["`b`", &b]);
    refused(&["task", "add", "x", "--after", "nope"], &["nope"]);
    refused(&["task", "add", "x", "--parent", "t-ffffff"], &["t-ffffff"]);
    refused(&["task", "edit", "b", "--parent", "a"], &["cycle"]);
    refused(&["task", "add", "x", "--phase", "two"], &["two"]);
    refused(&["task", "add", " "], &["title"]);
    refused(&["task", "show", "zzz"], &["zzz"]);
    refused(&["run", "zzz"], &["zzz"]);
    assert_eq!(project.ok(&["task", "list", "--json"]).stdout, before);
}

#[test]
fn a_description_may_come_from_standard_input() {
    let project = Project::new();
    let output = project.ralph_with_input(&["task", "add", "T", "-d", "-"], "from\nstdin — 日本\n");
    let id = output.expect_code(0).text().to_owned();
    assert_eq!(project.task(&id)["description"], json!("from\nstdin — 日本"));
}

#[test]
fn edit_changes_and_clears() {
    let project = Project::new();
    let id = project.add(&["T", "--key", "k", "--verify", "true", "--phase", "1"]);
    project.ok(&["task", "edit", "k", "--title", "U", "--verify", "", "--phase", "2.1", "--key", "k2"]);
    let task = project.task(&id);
    assert_eq!(task["title"], json!("U"));
    assert_eq!(task["verify"], Value::Null);
    assert_eq!(task["phase"], json!(2.1));
    assert_eq!(task["key"], json!("k2"));
    assert_eq!(project.ralph(&["task", "edit", "k2"]).code, 2);
}

#[test]
fn a_persons_word_moves_tasks_and_their_family() {
    let project = Project::new();
    let parent = project.add(&["Parent", "--key", "p"]);
    project.add(&["A", "--key", "a", "--parent", &parent]);
    project.add(&["B", "--key", "b", "--parent", &parent, "--after", "a"]);
    project.ok(&["task", "done", "a"]);
    assert_eq!(project.status_of("p"), "pending");
    project.ok(&["task", "skip", "b", "--reason", "not needed"]);
    assert_eq!(project.status_of("p"), "done");
    project.ok(&["task", "reset", "a"]);
    assert_eq!((project.status_of("a"), project.status_of("p")), ("pending".into(), "pending".into()));
    project.ok(&["task", "fail", "a", "--reason", "too hard"]);
    assert_eq!(project.status_of("a"), "failed");
    let status = project.ok(&["status"]).stdout;
    assert!(status.contains("too hard") && status.contains(" · waiting for a (failed)"), "{status}");
}

#[test]
fn done_with_verify_asks_the_gate() {
    let project = Project::new();
    project.add(&["T", "--key", "k", "--verify", "test -f proof"]);
    let refused = project.ralph(&["task", "done", "k", "--verify"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert_eq!(project.status_of("k"), "pending");
    project.write("proof", "");
    project.ok(&["task", "done", "k", "--verify"]);
    assert_eq!(project.status_of("k"), "done");
}

#[test]
fn delete_asks_first_and_frees_who_waited() {
    let project = Project::new();
    project.add(&["A", "--key", "a"]);
    project.add(&["B", "--key", "b", "--after", "a"]);
    let unasked = project.ralph(&["task", "delete", "a"]);
    assert_eq!(unasked.code, 2);
    assert!(unasked.stderr.contains("--yes"));
    let deleted = project.ok(&["task", "delete", "a", "--yes"]);
    assert!(deleted.stderr.contains("b no longer depends on a"), "{}", deleted.stderr);
    assert_eq!(project.json(&["status", "--json"])["ready"], json!(1));
}

#[test]
fn a_task_that_has_run_can_be_deleted() {
    let project = Project::new();
    project.agent("echo \"<task-done>$RALPH_TASK_ID</task-done>\"");
    project.add(&["A", "--key", "a"]);
    project.ok(&["run"]);
    project.ok(&["task", "delete", "a", "--yes"]);
    assert!(project.history().is_empty());
    assert_eq!(project.json(&["task", "list", "--json"]), json!([]));
}

#[test]
fn deps_and_tree_show_the_plan() {
    let project = Project::new();
    let parent = project.add(&["Parent", "--key", "p"]);
    let a = project.add(&["Alpha", "--key", "a", "--parent", &parent]);
    let b = project.add(&["Beta", "--key", "b", "--parent", &parent]);
    project.ok(&["task", "deps", "add", "b", "a"]);
    assert_eq!(project.json(&["task", "deps", "list", "--json"]), json!([{ "task_id": b, "depends_on": a }]));
    assert_eq!(project.ok(&["task", "deps", "list", "b"]).text(), "b depends on a (pending)");
    assert_eq!(project.ok(&["task", "tree"]).text(), "· p Parent\n├─ · a Alpha\n└─ · b Beta");
    let tree = project.json(&["task", "tree", "--json"]);
    assert_eq!(tree[0]["children"][1]["id"], json!(b));
    project.ok(&["task", "deps", "rm", "b", "a"]);
    assert_eq!(project.json(&["task", "deps", "list", "--json"]), json!([]));
}

#[test]
fn imp_07_titles_are_at_most_300_characters() {
    let project = Project::new();
    let long = format!("{}end", "word ".repeat(60));
    for args in [vec!["task", "add", long.as_str()], vec!["task", "edit", "k", "--title", long.as_str()]] {
        project.ok(&["task", "list"]);
        if args[1] == "edit" {
            project.add(&["Short", "--key", "k"]);
        }
        let refused = project.ralph(&args).expect_code(2);
        assert!(
            refused.stderr.contains("the title has 303 characters; at most 300 are allowed")
                && refused.stderr.contains("--description"),
            "{}",
            refused.stderr
        );
    }
    project.write("tasks.md", &format!("# Tasks\n\n- [ ] 1.1 {long}\n  - **Do**: It\n"));
    let imported = project.ok(&["import", "tasks.md"]);
    assert!(imported.stderr.contains("longer than 300"), "{}", imported.stderr);
    let task = project.task("1.1");
    let title = task["title"].as_str().unwrap();
    assert!(title.chars().count() <= 300 && title.ends_with("word…"), "{title}");
    let description = task["description"].as_str().unwrap();
    assert!(description.starts_with(&long) && description.contains("It"), "{description}");
    let again = project.json(&["import", "tasks.md", "--json"]);
    assert_eq!(again["updated"], serde_json::json!([]));
}

#[test]
fn str_09_a_model_that_the_agent_does_not_have_is_told_of_when_it_is_given() {
    let project = Project::new();
    project.agent("true");
    let toml = project.read(".ralph.toml").replace(
        "command = [\"sh\", \"agent.sh\"]",
        "command = [\"sh\", \"agent.sh\"]\nmodels = [\"haiku\", \"sonnet\"]",
    );
    project.write(".ralph.toml", &toml);
    for (model, told) in [("sonet", true), ("sonnet", false)] {
        let add = project.ok(&["task", "add", "T", "--model", model, "--key", model]);
        assert_eq!(add.stderr.contains("`sonet`"), told, "{}", add.stderr);
        let edit = project.ok(&["task", "edit", model, "--model", model]);
        assert_eq!(edit.stderr.contains("`sonet`"), told, "{}", edit.stderr);
    }
}
