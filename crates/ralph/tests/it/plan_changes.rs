//! Agents that ask for a change of the plan.

use serde_json::json;

use crate::support::Project;

/// An agent that answers its Nth attempt at KEY with the file `says.KEY.N`, else reports done.
fn project() -> Project {
    let project = Project::new();
    project.agent(
        "n=$(cat \"count.$RALPH_TASK_KEY\" 2>/dev/null || echo 0); n=$((n + 1))\n\
         echo $n > \"count.$RALPH_TASK_KEY\"; echo \"$RALPH_TASK_KEY\" >> order.txt\n\
         cp .ralph/last-prompt \"prompt.$RALPH_TASK_KEY.$n\"\n\
         if [ -f \"says.$RALPH_TASK_KEY.$n\" ]; then cat \"says.$RALPH_TASK_KEY.$n\"; else echo TASK_COMPLETE; fi",
    );
    project.write(
        "tasks.md",
        "# Tasks\n\n- [ ] 1.1 Large\n  - **Do**: Much\n  - **Verify**: `test 1 = 1`\n\n- [ ] 1.2 After\n",
    );
    project.ok(&["import", "tasks.md"]);
    project
}

fn ask(kind: &str, tasks: &serde_json::Value) -> String {
    let request = json!({"type": kind, "originalTaskId": "1.1", "reasoning": "It is too large.", "proposedTasks": tasks});
    format!("I looked at it.\n\nTASK_MODIFICATION_REQUEST\n```json\n{request:#}\n```\n")
}

fn order(project: &Project) -> String {
    project.read("order.txt").lines().collect::<Vec<_>>().join(" ")
}

#[test]
fn mod_01_03_a_split_is_made_in_the_plan_and_in_the_file() {
    let project = project();
    project.write(
        "says.1.1.1",
        &ask(
            "SPLIT_TASK",
            &json!([
                {"title": "First half", "do": ["Begin"], "files": ["a.rs"], "verify": "test 2 = 2"},
                {"title": "Second half", "verify": "test 3 = 3"},
            ]),
        ),
    );
    let run = project.ok(&["run"]);
    assert!(run.stdout.contains("1.1 SPLIT_TASK: added 1.1.1, 1.1.2"), "{}", run.stdout);
    assert_eq!(order(&project), "1.1 1.1.1 1.1.2 1.2", "and its own gate has the last word");
    assert_eq!(project.status_of("1.1"), "done");
    let parent = project.task("1.1")["id"].clone();
    assert_eq!(project.task("1.1.2")["parent_id"], parent);
    let file = project.read("tasks.md");
    assert!(file.contains("- [x] 1.1.1 First half\n  - **Do**: Begin\n  - **Files**: a.rs\n"), "{file}");
    let places = ["- [x] 1.1 Large", "- [x] 1.1.1 First", "- [x] 1.1.2 Second", "- [x] 1.2 After"]
        .map(|line| file.find(line).unwrap());
    assert!(places.is_sorted(), "{file}");
    let again = project.json(&["import", "tasks.md", "--json"]);
    assert_eq!(again["added"], json!([]), "{again}");
    let recorded: (String, String) = project
        .database()
        .query_row("SELECT kind, reasoning FROM plan_changes", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    assert_eq!(recorded, ("SPLIT_TASK".into(), "It is too large.".into()));
}

#[test]
fn mod_01_a_prerequisite_comes_first_and_a_follow_up_last() {
    let project = project();
    project.write(
        "says.1.1.1",
        &ask("ADD_PREREQUISITE", &json!([{"id": "pre", "title": "Before", "verify": "test 2 = 2"}])),
    );
    let done = ask("ADD_FOLLOWUP", &json!([{"id": "post", "title": "Later", "verify": "test 2 = 2"}]));
    project.write("says.1.1.2", &format!("{done}\nTASK_COMPLETE\n"));
    project.ok(&["run"]);
    assert_eq!(order(&project), "1.1 pre 1.1 post 1.2");
}

#[test]
fn mod_03_what_is_refused_changes_nothing_and_the_next_attempt_is_told_why() {
    let project = project();
    for (attempt, tasks) in [
        ("1", json!([{"title": "No gate"}, {"title": "Nor here"}])),
        (
            "2",
            json!([{"title": "A", "verify": "test 2 = 2", "dependsOn": ["nowhere"]}, {"title": "B", "verify": "test 2 = 2"}]),
        ),
    ] {
        project.write(&format!("says.1.1.{attempt}"), &ask("SPLIT_TASK", &tasks));
    }
    project.write("says.1.1.3", "TASK_MODIFICATION_REQUEST\n{broken\n");
    let run = project.ok(&["run"]);
    assert_eq!(order(&project), "1.1 1.1 1.1 1.1 1.2");
    for (attempt, word) in [("2", "verify command"), ("3", "nowhere"), ("4", "JSON")] {
        let prompt = project.read(&format!("prompt.1.1.{attempt}"));
        let section = prompt.split("### Refused Plan Changes").nth(1).unwrap();
        assert!(section.contains(word), "{attempt}: {section}");
    }
    assert!(run.stdout.contains("refused:"), "{}", run.stdout);
    assert_eq!(project.json(&["task", "list", "--json"]).as_array().unwrap().len(), 2);
}

#[test]
fn mod_02_a_fourth_change_of_a_task_and_one_three_deep_are_refused() {
    let project = project();
    for n in 1..=4 {
        let task = json!([{"id": format!("p{n}"), "title": format!("Part {n}"), "verify": "test 2 = 2"}]);
        project.write(&format!("says.1.1.{n}"), &ask("ADD_PREREQUISITE", &task));
    }
    let deeper = |original: &str, id: &str| {
        ask("ADD_PREREQUISITE", &json!([{"id": id, "title": "Deeper", "verify": "test 2 = 2"}]))
            .replace("\"1.1\"", &format!("\"{original}\""))
    };
    project.write("says.p1.1", &deeper("p1", "q1"));
    project.write("says.q1.1", &deeper("q1", "r1"));
    project.ok(&["run", "--max-attempts", "9"]);
    assert_eq!(order(&project), "1.1 p1 q1 q1 p1 1.1 p2 1.1 p3 1.1 1.1 1.2");
    assert_eq!(project.ralph(&["task", "show", "p4"]).code, 2);
    assert_eq!(project.ralph(&["task", "show", "r1"]).code, 2);
}

#[test]
fn a_stuck_task_is_told_that_it_may_ask_for_a_split() {
    let project = project();
    for n in 1..=3 {
        project.write(&format!("says.1.1.{n}"), "FAILURE_REASON: error: the same again\n");
    }
    project.ok(&["run"]);
    assert!(!project.read("prompt.1.1.1").contains("TASK_MODIFICATION_REQUEST"));
    let prompt = project.read("prompt.1.1.4");
    assert!(
        prompt.contains("`TASK_MODIFICATION_REQUEST` with `SPLIT_TASK` or `ADD_PREREQUISITE`")
            && prompt.contains("### Changing the plan"),
        "{prompt}"
    );
}

#[test]
fn sig_11_a_done_signal_beside_giving_up_needs_a_passing_gate() {
    let project = project();
    project.write("says.1.1.1", "I could not complete all of it.\n\nTASK_COMPLETE\n");
    project.write("says.1.2.1", "It needs manual intervention.\n\nTASK_COMPLETE\n");
    project.ok(&["run"]);
    assert_eq!(order(&project), "1.1 1.2 1.2", "1.1 has a gate that passed, 1.2 has none");
}

#[test]
fn mod_03_a_split_survives_another_reading_of_the_file() {
    let project = project();
    project.write(
        "says.1.1.1",
        &ask(
            "SPLIT_TASK",
            &json!([{"title": "First", "verify": "test 2 = 2"}, {"title": "Second", "verify": "test 3 = 3"}]),
        ),
    );
    project.ralph(&["run", "--limit", "1"]).expect_code(4);
    let file = project.read("tasks.md").replace("1.2 After", "1.2 After all");
    project.write("tasks.md", &file);
    project.ok(&["import", "tasks.md"]);
    project.ok(&["run"]);
    assert_eq!(order(&project), "1.1 1.1.1 1.1.2 1.2");
    assert_eq!(project.task("1.2")["title"], "After all");
}

#[test]
fn mod_01_follow_ups_keep_their_order_in_the_plan_and_in_the_file() {
    let project = project();
    let task = |key: &str| json!({"id": key, "title": key, "verify": "test 2 = 2"});
    let first = ask("ADD_FOLLOWUP", &json!([task("V8"), task("V3"), task("V5")]));
    let second = ask("ADD_FOLLOWUP", &json!([task("V4"), task("V7")]));
    project.write("says.1.1.1", &format!("{first}\n{second}\nTASK_COMPLETE\n"));
    let run = project.ok(&["run"]);
    assert_eq!(order(&project), "1.1 V8 V3 V5 V4 V7 1.2", "{}", run.stdout);
    let file = project.read("tasks.md");
    let places = ["1.1 L", "V8", "V3", "V5", "V4", "V7", "1.2 A"]
        .map(|name| file.find(&format!("- [x] {name}")).unwrap());
    assert!(places.is_sorted(), "{file}");
}

#[test]
fn mod_03_two_requests_of_one_answer_both_apply_or_are_refused_with_a_reason() {
    let of = |title: &str| json!([{"title": title, "verify": "test 2 = 2"}]);
    let both = project();
    let ask_twice = |one: &str, other: &str| {
        format!("{}\n{}\nTASK_COMPLETE\n", ask(one, &of("One")), ask(other, &of("Other")))
    };
    both.write("says.1.1.1", &ask_twice("ADD_FOLLOWUP", "ADD_FOLLOWUP"));
    both.ok(&["run"]);
    assert_eq!(order(&both), "1.1 1.1.1 1.1.2 1.2", "each with a key of its own");

    let against = project();
    let halves = json!([{"title": "A", "verify": "test 2 = 2"}, {"title": "B", "verify": "test 2 = 2"}]);
    let split = ask("SPLIT_TASK", &halves);
    let before = ask("ADD_PREREQUISITE", &of("First"));
    against.write("says.1.1.1", &format!("{split}\n{before}"));
    let run = against.ok(&["run"]);
    assert_eq!(order(&against), "1.1 1.1.1 1.1.2 1.2");
    assert!(
        run.stdout.contains("refused: another request in the same answer splits the task"),
        "{}",
        run.stdout
    );
}

#[test]
fn imp_08_a_persons_tick_on_a_task_with_open_children_is_believed() {
    let project = project();
    let halves = json!([{"title": "A", "verify": "test 2 = 2"}, {"title": "B", "verify": "test 2 = 2"}]);
    project.write("says.1.1.1", &ask("SPLIT_TASK", &halves));
    project.ralph(&["run", "--limit", "1"]).expect_code(4);
    let ticked = project
        .read("tasks.md")
        .replace("- [ ] 1.1 Large", "- [x] 1.1 Large")
        .replace("- [ ] 1.1.1 A", "- [x] 1.1.1 A");
    project.write("tasks.md", &ticked);
    project.ok(&["run"]);
    let statuses = ["1.1", "1.1.1", "1.1.2", "1.2"].map(|key| project.status_of(key));
    assert_eq!(statuses, ["done", "done", "skipped", "done"]);
    assert_eq!(order(&project), "1.1 1.2");
    assert!(project.read("tasks.md").contains("- [x] 1.1 Large"));
}
