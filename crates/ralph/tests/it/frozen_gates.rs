//! A gate is frozen when its attempt begins, and every change of a gate during a run is named.

use serde_json::{Value, json};

use crate::support::{Project, eventually};

const DONE: &str = "echo '<no-change-needed>Nothing was asked for.</no-change-needed>'; echo \"<task-done>$RALPH_TASK_ID</task-done>\"";
const WAIT: &str = "touch begun; while [ ! -e go ]; do sleep 0.02; done";

fn of_kind<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

/// Starts one attempt, does something while it is under way, and gives what was printed.
fn meanwhile(project: &Project, change: impl FnOnce()) -> String {
    let run = project.command(&["run", "--once"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    eventually("the attempt begins", || project.path("begun").exists());
    change();
    project.write("go", "");
    let output = run.wait_with_output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn events(project: &Project) -> Vec<Value> {
    let database = project.database();
    let mut query = database.prepare("SELECT json FROM run_events ORDER BY at, seq").unwrap();
    let rows = query.query_map([], |row| row.get::<_, String>(0)).unwrap();
    rows.map(|row| serde_json::from_str(&row.unwrap()).unwrap()).collect()
}

#[test]
fn a_gate_that_a_person_changes_during_an_attempt_counts_from_the_next_one() {
    let project = Project::new();
    project.agent(&format!("{WAIT}; {DONE}"));
    project.set("gate", "precheck = false");
    project.add(&["A", "--key", "a", "--verify", "false"]);
    let printed = meanwhile(&project, || {
        project.ralph(&["task", "edit", "a", "--verify", "true"]);
        project.database().execute("UPDATE tasks SET verify = 'true' WHERE key = 'a'", []).unwrap();
    });
    assert_eq!(project.history()[0]["outcome"], json!("failed"));
    // In the events while it ran, and in the summary.
    let named = "a changed outside this run: `false` → `true`";
    assert!(printed.contains(named), "{printed}");
    assert_eq!(printed.matches("`false` → `true`").count(), 2, "{printed}");
    let status = project.json(&["status", "--json"]);
    assert_eq!(status["last_run"]["gate_changes"][0]["after"], json!("true"));
    project.ok(&["run"]);
    assert_eq!(project.status_of("a"), "done");
}

#[test]
fn changes_of_other_tasks_gates_are_named_too() {
    let project = Project::new();
    project.agent(&format!("{WAIT}; {DONE}"));
    project.add(&["A", "--key", "a"]);
    project.add(&["B", "--key", "b", "--after", "a", "--verify", "false"]);
    meanwhile(&project, || {
        project.ok(&["task", "edit", "b", "--verify", "true"]);
    });
    let all = events(&project);
    let changed = of_kind(&all, "gate_changed");
    assert_eq!(changed.len(), 1);
    assert_eq!(
        (&changed[0]["key"], &changed[0]["before"], &changed[0]["after"]),
        (&json!("b"), &json!("false"), &json!("true"))
    );
}

const SPEC: &str = "# T\n\n- [ ] 1.1 A\n  - **Verify**: `false && x`\n- [ ] 1.2 B\n  - **Verify**: `false`\n";

/// A spec whose agent runs a script once and says that its task is done.
fn with_spec(script: &str) -> Project {
    let project = Project::new();
    project.agent(&format!("if [ ! -e edited ]; then touch edited; {script}\nfi\n{DONE}"));
    project.set("gate", "precheck = false");
    project.write("tasks.md", SPEC);
    project.ok(&["import", "tasks.md"]);
    project
}

#[test]
fn a_verify_that_an_agent_changes_in_a_plan_file_waits_for_an_import() {
    let project = with_spec("sed -i 's/`false.*`/`true`/' tasks.md");
    let output = project.ralph(&["run", "--limit", "2"]).expect_code(4);
    let warned = "the gate of 1.1 changed in tasks.md while an agent was running";
    assert!(output.stdout.contains(warned), "{}", output.stdout);
    assert!(output.stdout.contains("ralph import tasks.md"));
    // As an event while it ran and again in the summary, with both gates.
    let both = "`false && x` → `true`";
    assert_eq!(output.stdout.matches(both).count(), 2, "{}", output.stdout);
    let told = events(&project);
    let told = of_kind(&told, "gate_waiting");
    assert_eq!(told.len(), 2);
    assert_eq!(
        (&told[0]["before"], &told[0]["after"], &told[0]["path"]),
        (&json!("false && x"), &json!("true"), &json!("tasks.md"))
    );
    let status = project.ok(&["status"]);
    assert!(status.stdout.contains("the gate of 1.1 changed"), "{}", status.stdout);
    assert!(status.stdout.contains("ralph import tasks.md"));
    let status = project.json(&["status", "--json"]);
    let waiting = json!({"id": project.task("1.1")["id"], "name": "1.1", "path": "tasks.md",
        "before": "false && x", "after": "true"});
    assert_eq!(status["gates_waiting"][0], waiting);
    assert_eq!(status["last_run"]["gates_waiting"][0], waiting);
    assert_eq!(project.task("1.1")["verify"], json!("false && x"));
    // A person's edit of something else does not bring it in, in this run or a later one.
    let text = project.read("tasks.md").replace("1.1 A", "1.1 Another title");
    project.write("tasks.md", &text);
    project.ralph(&["run", "--once"]).expect_code(4);
    assert_eq!(project.task("1.1")["title"], json!("Another title"));
    assert_eq!(project.task("1.1")["verify"], json!("false && x"));
    assert!(project.history().iter().all(|a| a["outcome"] == "failed"));
    // A person's import does, and shows both gates before and as it does.
    let shown = "the gate of 1.1: `false && x` → `true`";
    for args in [&["import", "tasks.md", "--dry-run"][..], &["import", "tasks.md"]] {
        let dry = project.json(&["import", "tasks.md", "--dry-run", "--json"]);
        let gate = json!({"id": project.task("1.1")["id"], "name": "1.1",
            "before": "false && x", "after": "true"});
        assert_eq!(dry["gates_changed"][0], gate);
        assert_eq!(project.task("1.1")["verify"], json!("false && x"));
        let import = project.ok(args);
        assert!(import.stdout.contains(shown), "{}", import.stdout);
    }
    let status = project.json(&["status", "--json"]);
    assert_eq!(status["gates_waiting"], json!([]));
    assert_eq!(status["last_run"]["gates_waiting"], json!([]));
    assert_eq!(project.task("1.1")["verify"], json!("true"));
    assert_eq!(project.task("1.2")["verify"], json!("true"));
    project.ok(&["run"]);
    // It came between two runs.
    assert!(of_kind(&events(&project), "gate_changed").is_empty());
}

#[test]
fn a_changed_verify_cannot_be_hidden_behind_an_old_time_of_modification() {
    // As long as before, and with the same time of modification.
    let project = with_spec(
        "cp -p tasks.md before; sed -i 's/`false && x`/`true # xxx`/' tasks.md; touch -r before tasks.md",
    );
    project.ralph(&["run", "--once"]).expect_code(4);
    assert_eq!(project.read("tasks.md").len(), SPEC.len(), "the edit stands in the file");
    project.ralph(&["run", "--once"]).expect_code(4);
    assert_eq!(project.task("1.1")["verify"], json!("false && x"));
    assert!(project.history().iter().all(|a| a["outcome"] == "failed"));
}

#[test]
fn a_gate_that_changes_a_verify_is_no_persons_hand() {
    // The gate of a parent, which runs what agents wrote, edits the gate of a task before that is claimed.
    let project = Project::new();
    project.agent(DONE);
    project.set("gate", "precheck = false");
    project.write("gate.sh", "sed -i 's/`false`/`true`/' tasks.md");
    project.write("tasks.md", "# T\n\n- [ ] 1.2 B\n  - **Verify**: `false`\n");
    project.ok(&["import", "tasks.md"]);
    project.add(&["Parent", "--key", "p", "--verify", "sh gate.sh"]);
    let part = project.add(&["Part", "--parent", "p"]);
    project.ok(&["task", "done", &part]);
    project.ralph(&["run", "--limit", "2"]).expect_code(4);
    assert_eq!(project.status_of("p"), "done");
    assert!(project.read("tasks.md").contains("`true`"));
    assert_eq!(project.task("1.2")["verify"], json!("false"));
    assert_eq!(project.status_of("1.2"), "pending");
}

#[test]
fn a_persons_verify_between_runs_counts_at_once() {
    let project = with_spec("true");
    project.ralph(&["run", "--once"]).expect_code(4);
    let text = project.read("tasks.md").replace("`false && x`", "`true`");
    project.write("tasks.md", &text);
    let output = project.ralph(&["run", "--once"]).expect_code(4);
    assert_eq!(project.status_of("1.1"), "done");
    let named = "1.1 changed in the plan file: `false && x` → `true`";
    assert!(output.stdout.contains(named), "{}", output.stdout);
}
