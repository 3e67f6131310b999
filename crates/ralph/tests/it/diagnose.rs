//! What people and the next attempt are told of a failure, and what the breaker blames for it.

use serde_json::{Value, json};

use crate::support::Project;

const DONE: &str = "echo '<no-change-needed>Nothing was asked for.</no-change-needed>'; echo \"<task-done>$RALPH_TASK_ID</task-done>\"";

fn breaker(project: &Project) -> Value {
    project.json(&["status", "--json"])["breaker"].clone()
}

fn why(project: &Project, task: &str) -> String {
    let database = project.database();
    let sql = "SELECT why_it_failed FROM failure_reports r JOIN tasks t ON t.id = r.task_id WHERE t.key = ?1";
    database.query_row(sql, [task], |row| row.get(0)).unwrap()
}

#[test]
fn brk_02_silent_gates_with_different_commands_fail_differently() {
    let project = Project::new();
    project.agent(DONE);
    for key in ["a", "b"] {
        let gate = format!("test -f made-by-{key}");
        project.add(&["Thing", "--key", key, "--verify", &gate]);
    }
    project.ralph(&["run"]).expect_code(5);
    assert_eq!(project.history().len(), 10);
    assert_eq!(breaker(&project)["state"], "closed");
    project.add(&["Thing", "--key", "c", "--verify", "test -f made-by-c"]);
    project.ralph(&["run"]).expect_code(6);
    let pattern = project.json(&["analyze", "--json"])["pattern"].clone();
    let pattern = pattern.as_str().unwrap();
    assert!(pattern.starts_with("5 of 11: ") && pattern.contains("made-by-b"), "{pattern}");
}

#[test]
fn brk_02_the_same_command_that_fails_silently_is_the_same_failure() {
    let project = Project::new();
    project.agent(DONE);
    for key in ["a", "b"] {
        project.add(&["Thing", "--key", key, "--verify", "test -f made"]);
    }
    project.ralph(&["run"]).expect_code(6);
    assert_eq!(project.history().len(), 6);
}

#[test]
fn brk_02_what_a_person_sees_to_leaves_the_streak() {
    for word in [
        vec!["task", "done", "a"],
        vec!["task", "reset", "a"],
        vec!["task", "edit", "a", "--title", "Another thing"],
        vec!["task", "delete", "a", "--yes"],
    ] {
        let project = Project::new();
        project.agent(DONE);
        for key in ["a", "b"] {
            project.add(&["Thing", "--key", key, "--verify", "test -f made"]);
        }
        project.ralph(&["run"]).expect_code(6);
        project.ok(&word);
        let left = breaker(&project);
        let left = (&left["state"], &left["failures"]);
        assert_eq!(left, (&json!("closed"), &json!(1)), "{word:?}");
    }
}

#[test]
fn brk_02_parts_of_a_split_count_as_their_root() {
    let project = Project::new();
    project.agent(&format!(
        "if [ \"$RALPH_TASK_KEY\" = a ]; then cat <<'END'\n\
         <task-failed>a</task-failed>\n\nTASK_MODIFICATION_REQUEST\n```json\n\
         {{\"type\":\"SPLIT_TASK\",\"originalTaskId\":\"a\",\"reasoning\":\"too large\",\"proposedTasks\":[\
         \"- [ ] a.1 One\\n  - **Do**: one\\n  - **Verify**: `test -f one`\",\
         \"- [ ] a.2 Two\\n  - **Do**: two\\n  - **Verify**: `test -f one`\"]}}\n```\nEND\nelse {DONE}; fi"
    ));
    project.add(&["Thing", "--key", "a"]);
    project.add(&["Thing", "--key", "b", "--verify", "test -f b"]);
    project.ralph(&["run"]).expect_code(5);
    let failed = |key: &str| project.task(key)["consecutive_failures"].clone();
    // Three tasks would open it; but a part is no other task than the one it is of.
    let counts = ["a", "a.1", "b"].map(failed);
    assert_eq!(counts, [json!(0), json!(5), json!(5)]);
    assert_eq!(breaker(&project)["state"], "closed");
    assert_eq!(breaker(&project)["failures"], 11);
}

#[test]
fn att_05_the_next_attempt_sees_the_failing_test_though_many_passed_after_it() {
    let project = Project::new();
    project.agent(DONE);
    project.write(
        "gate.sh",
        "cat <<'END'\n=== FAILURES ===\n____ test_early ____\n\n>       assert add(1, 2) == 3\n\
         E       assert -1 == 3\nE        +  where -1 = add(1, 2)\n\ntest_a.py:4: AssertionError\n\
         === short test summary info ===\nFAILED test_a.py::test_early - assert -1 == 3\nEND\n\
         i=0; while [ $i -lt 3000 ]; do echo \"test_b.py::test_$i PASSED\"; i=$((i+1)); done; exit 1",
    );
    project.add(&["Thing", "--key", "a", "--verify", "sh gate.sh"]);
    project.ralph(&["run", "--once"]).expect_code(4);
    let error = "FAILED test_a.py::test_early - assert -1 == 3";
    assert!(why(&project, "a").starts_with(error), "{}", why(&project, "a"));
    let prompt = project.ok(&["context", "a"]).stdout;
    for line in [error, "where -1 = add(1, 2)"] {
        assert!(prompt.contains(line), "{prompt}");
    }
    assert!(project.read("AGENTS.md").contains(error));
}

#[test]
fn att_05_lines_that_deny_an_error_or_tell_of_passed_tests_are_no_error() {
    let exited = "the gate `sh gate.sh` exited with code 1";
    for (output, error, hidden) in [
        ("Compiling\\nThe error is gone.\\n0 failed, 3 passed\\nNo errors found", exited.to_owned(), ""),
        ("none failed", exited.to_owned(), ""),
        ("ok 1 - adds\\nok 2 - subtracts", exited.to_owned(), ""),
        ("All 12 tests passed", exited.to_owned(), ""),
        ("The moon is missing a piece", format!("The moon is missing a piece ({exited})"), ""),
        ("not ok 1 - adds\\nok 2 - subtracts", format!("not ok 1 - adds ({exited})"), "subtracts"),
        (
            "t.py::test_a FAILED\\nt.py::test_b PASSED [ 12%%]",
            format!("t.py::test_a FAILED ({exited})"),
            "test_b",
        ),
    ] {
        let project = Project::new();
        project.agent(DONE);
        project.set("gate", "baseline = \"off\"");
        project.write("gate.sh", &format!("printf '{output}\\n'; exit 1\n"));
        project.add(&["Thing", "--key", "a", "--verify", "sh gate.sh"]);
        project.ralph(&["run", "--once"]).expect_code(4);
        assert_eq!(why(&project, "a"), error);
        let report = project.ok(&["failures", "show", "a"]).stdout;
        assert!(hidden.is_empty() || !report.contains(hidden), "{report}");
    }
}

#[test]
fn ext_02_a_crash_is_told_by_the_error_the_agent_printed() {
    for (script, line) in [
        (
            "echo working; echo 'error: cannot open the vault' >&2; exit 3",
            "error: cannot open the vault (the agent exited with code 3)",
        ),
        ("echo working; echo 'error: no vault'; exit 1", "error: no vault (the agent exited with code 1)"),
        ("echo 'The error is gone.'; exit 1", "the agent exited with code 1"),
    ] {
        let project = Project::new();
        project.agent(script);
        project.add(&["Thing", "--key", "a"]);
        project.ralph(&["run", "--once"]).expect_code(4);
        assert_eq!(why(&project, "a"), line);
        assert_eq!(project.history()[0]["message"], line);
    }
}

#[test]
fn out_04_a_timeout_says_after_how_long() {
    let project = Project::new();
    project.agent("echo 'error: slow'; sleep 60");
    project.set("run", "attempt_timeout = \"1s\"\ngrace = \"100ms\"");
    project.add(&["Thing", "--key", "a"]);
    project.ralph(&["run", "--once"]).expect_code(4);
    assert_eq!(why(&project, "a"), "timed out after 1 s");
    assert_eq!(project.history()[0]["message"], "timed out after 1 s");
    // So does a gate, whatever it printed last.
    let project = Project::new();
    project.agent(DONE);
    project.set("gate", "timeout = \"1s\"");
    project.add(&["Thing", "--key", "a", "--verify", "echo begin; sleep 60"]);
    project.ralph(&["run", "--once"]).expect_code(4);
    assert_eq!(why(&project, "a"), "the gate `echo begin; sleep 60` timed out after 1 s");
}
