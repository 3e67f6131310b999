//! Plans that live in files: taken in, taken in again, and kept true.

use serde_json::json;

use crate::support::Project;

const SPEC: &str = "# Tasks\n\n## Phase 1: First\n\n- [x] 1.1 One\n  - **Do**: Begin\n- [ ] 1.2 [P] Two\n- [ ] 1.3 [P] Three\n\n\
    ## Phase 2: Second\n\n- [ ] V1 [VERIFY] Check: `true`\n- [ ] 2.1 Four\n";

fn keys(project: &Project) -> Vec<String> {
    let tasks = project.json(&["task", "list", "--json"]);
    let tasks = tasks.as_array().unwrap().iter();
    tasks.map(|task| task["key"].as_str().unwrap_or("-").to_owned()).collect()
}

#[test]
fn imp_05_a_second_import_updates_and_neither_doubles_nor_deletes_nor_reopens() {
    let project = Project::new();
    project.write("tasks.md", SPEC);
    let dry = project.json(&["import", "tasks.md", "--dry-run", "--json"]);
    assert_eq!((&dry["dry_run"], dry["added"].as_array().unwrap().len()), (&json!(true), 5));
    assert_eq!(keys(&project).len(), 0, "a dry run changes nothing");
    let first = project.json(&["import", "tasks.md", "--json"]);
    assert_eq!((&first["format"], first["added"].as_array().unwrap().len()), (&json!("tasks_md"), 5));
    let id = project.task("1.3")["id"].clone();
    let second = project.json(&["import", "tasks.md", "--json"]);
    assert_eq!(
        (&second["added"], &second["updated"], &second["unchanged"]),
        (&json!([]), &json!([]), &json!(5))
    );
    project.ok(&["task", "done", "1.2"]);
    // A task is renamed, one goes, one comes in between, one box is ticked, one unticked.
    let changed = SPEC
        .replace("1.3 [P] Three", "1.3 [P] Three and a half")
        .replace("- [ ] 2.1 Four\n", "")
        .replace("- [x] 1.1", "- [ ] 1.1")
        .replace("## Phase 2", "- [x] 1.4 Between\n\n## Phase 2");
    project.write("tasks.md", &changed);
    let third = project.json(&["import", "tasks.md", "--json"]);
    let names = |list: &str| {
        let list = third[list].as_array().unwrap().iter();
        list.map(|task| task["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("added"), ["1.4"]);
    assert_eq!(names("removed"), ["2.1"]);
    assert!(names("updated").contains(&"1.3".to_owned()));
    assert_eq!(
        keys(&project).into_iter().filter(|key| key != "2.1").collect::<Vec<_>>(),
        ["1.1", "1.2", "1.3", "1.4", "V1"],
        "the file's order"
    );
    assert_eq!(project.task("1.3")["id"], id);
    assert_eq!(project.task("1.3")["title"], "Three and a half");
    for (key, status) in [("1.1", "done"), ("1.2", "done"), ("1.4", "done"), ("2.1", "pending")] {
        assert_eq!(project.status_of(key), status, "{key}");
    }
}

#[test]
fn imp_04_order_and_groups_give_dependencies() {
    let project = Project::new();
    project.write("tasks.md", SPEC);
    project.ok(&["import", "tasks.md"]);
    let after = |key: &str| {
        let ids = project.task(key)["depends_on"].clone();
        let names = ids.as_array().unwrap().iter();
        names
            .map(|id| project.task(id.as_str().unwrap())["key"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(after("1.2"), ["1.1"]);
    assert_eq!(after("1.3"), ["1.1"]);
    assert_eq!(after("V1"), ["1.2", "1.3"]);
    assert_eq!(after("2.1"), ["V1"]);
    assert_eq!((&project.task("1.3")["phase"], &project.task("2.1")["phase"]), (&json!(1), &json!(2)));
    assert_eq!(project.task("V1")["verify"], "true");
}

#[test]
fn imp_07_bad_input_is_named_and_nothing_of_it_is_imported() {
    let project = Project::new();
    for (name, text, place) in [
        (
            "prd.json",
            "{\"userStories\": [\n {\"id\": \"A\", \"title\": \"a\"},\n {\"id\": \"B\"}\n]}",
            "prd.json:3:",
        ),
        ("prd2.json", "{\"userStories\": [\n", "prd2.json:2:"),
        ("plan.jsonl", "{\"type\":\"task\",\"key\":\"a\",\"title\":\"A\"}\nnonsense\n", "plan.jsonl:2:"),
        ("notes.md", "# Nothing to do\n", "notes.md:1:"),
    ] {
        project.write(name, text);
        let output = project.ralph(&["import", name]).expect_code(2);
        assert!(output.stderr.contains(place), "{name}: {}", output.stderr);
        assert_eq!(keys(&project).len(), 0, "{name}");
    }
    project.ralph(&["import", "nowhere.md"]).expect_code(2);
}

#[test]
fn other_formats_are_read() {
    let project = Project::new();
    project
        .write("TODO.md", "# Things\n\n- [ ] Parent\n  - [x] First part\n  - [ ] Second part\n- [ ] Alone\n");
    let report = project.json(&["import", "TODO.md", "--json"]);
    assert_eq!((&report["format"], report["added"].as_array().unwrap().len()), (&json!("checklist"), 4));
    assert_eq!(project.json(&["import", "TODO.md", "--json"])["unchanged"], 4);
    project.write(
        "prd.json",
        "{\"userStories\": [{\"id\": \"US-1\", \"title\": \"A\", \"acceptanceCriteria\": [\"x\"], \"priority\": 2, \"passes\": true},\
         {\"id\": \"US-2\", \"title\": \"B\", \"priority\": 1, \"passes\": false, \"dependsOn\": [\"US-1\"]}]}",
    );
    project.ok(&["import", "prd.json"]);
    assert_eq!((project.status_of("US-1"), project.status_of("US-2")), ("done".into(), "pending".into()));
    project.write(".planning/ROADMAP.md", "# Roadmap\n\n- [ ] **Phase 1: Base**\n");
    project.write(
        ".planning/phases/01-base/01-01-PLAN.md",
        "---\nphase: 01-base\nplan: 01\nwave: 1\ndepends_on: []\n---\n<objective>\nMake the base.\n</objective>\n<tasks>\n\
         <task type=\"auto\">\n<name>Task 1: Write it</name>\n<files>a.txt</files>\n<action>Write a.</action>\n\
         <verify>test -f a.txt</verify>\n<done>It is there</done>\n</task>\n</tasks>\n",
    );
    project.ok(&["import", ".planning"]);
    assert_eq!(project.task("01-01/1")["verify"], "test -f a.txt");
}

#[test]
fn a_ticked_item_of_a_checklist_is_believed_and_the_open_ones_below_it_are_skipped() {
    let project = Project::new();
    project.write("TODO.md", "- [x] A1 Whole\n  - [ ] A2 Part\n    - [ ] A3 Part of it\n- [ ] B1 Alone\n");
    let output = project.ok(&["import", "TODO.md"]);
    // The same words are said once.
    let note = "TODO.md:2: the task above it is checked, so Ralph skips this one (also line 3)\n";
    assert!(output.stderr.contains(note), "{}", output.stderr);
    for (key, status) in [("A1", "done"), ("A2", "skipped"), ("A3", "skipped"), ("B1", "pending")] {
        assert_eq!(project.status_of(key), status, "{key}");
    }
}

#[test]
fn an_export_is_imported_elsewhere_and_here() {
    let project = Project::new();
    project.write("tasks.md", SPEC);
    project.ok(&["import", "tasks.md"]);
    project.add(&["By hand", "--key", "hand", "--after", "2.1", "--verify", "true"]);
    project.ok(&["task", "skip", "1.3"]);
    project.ok(&["export", "--output", "plan.jsonl"]);
    let text = project.read("plan.jsonl");
    assert_eq!(project.ok(&["export"]).stdout.lines().count(), text.lines().count());
    let other = Project::new();
    other.write("plan.jsonl", &text);
    other.ok(&["import", "plan.jsonl"]);
    assert_eq!(keys(&other), keys(&project));
    let brief = |project: &Project, key: &str| {
        let task = project.task(key);
        let after = task["depends_on"].as_array().unwrap().len();
        (task["title"].clone(), task["status"].clone(), task["verify"].clone(), task["phase"].clone(), after)
    };
    for key in ["1.1", "1.2", "1.3", "V1", "2.1", "hand"] {
        assert_eq!(brief(&other, key), brief(&project, key), "{key}");
    }
    assert_eq!(other.json(&["import", "plan.jsonl", "--json"])["unchanged"], 6);
}

#[test]
fn imp_08_a_persons_edit_during_a_run_wins_and_takes_effect() {
    let project = Project::new();
    // The agent at 1.2 stands in for the person: the file changes while it works.
    project.agent(
        "echo \"$RALPH_TASK_KEY\" >> order.txt\n\
         if [ \"$RALPH_TASK_KEY\" = 1.2 ]; then\n\
         sed -i 's/^- \\[ \\] 2.1 Four/- [x] 2.1 Four by hand/; s/^# Tasks/# My tasks/' tasks.md\n\
         printf '%s\\n' '- [ ] 2.2 Five' '' 'A last word.' >> tasks.md\nfi\n\
         echo TASK_COMPLETE",
    );
    project.write("tasks.md", SPEC);
    project.ok(&["import", "tasks.md"]);
    let run = project.ok(&["run"]);
    assert!(
        run.stdout.contains("2.1 was checked off in tasks.md while an agent was running"),
        "{}",
        run.stdout
    );
    assert_eq!(project.read("order.txt"), "1.2\n1.3\nV1\n2.1\n2.2\n");
    let expected = SPEC
        .replace("- [ ] 2.1 Four\n", "- [x] 2.1 Four by hand\n- [ ] 2.2 Five\n\nA last word.\n")
        .replace("# Tasks", "# My tasks")
        .replace("- [ ]", "- [x]");
    assert_eq!(project.read("tasks.md"), expected);
    assert_eq!(project.task("2.1")["title"], "Four by hand");
}

#[test]
fn out_01_an_agent_that_ticks_boxes_finishes_nothing() {
    let project = Project::new();
    project
        .agent("sed -i 's/- \\[ \\]/- [x]/' tasks.md; echo \"$RALPH_TASK_KEY\" >> order.txt; echo 'no idea'");
    project.write(
        "tasks.md",
        "# T\n\n- [ ] 1.1 A\n  - **Verify**: `false`\n- [ ] 1.2 B\n  - **Verify**: `false`\n",
    );
    project.ok(&["import", "tasks.md"]);
    project.ralph(&["run", "--limit", "1"]).expect_code(4);
    for key in ["1.1", "1.2"] {
        assert_eq!(project.status_of(key), "pending", "{key}");
    }
    assert!(project.read("tasks.md").contains("- [ ] 1.1 A"), "its own box is opened again");
    project.ralph(&["run", "--limit", "1"]).expect_code(4);
    assert_eq!(project.status_of("1.2"), "pending", "nor does the next run believe it");
}

#[test]
fn imp_07_json_lines_need_no_type_take_depends_on_and_refuse_what_they_do_not_know() {
    let a = "{\"key\":\"a\",\"title\":\"A\"}\n";
    for (b, refused) in [
        ("{\"title\":\"B\",\"key\":\"b\",\"depends_on\":[\"a\"]}", ""),
        ("{\"type\":\"task\",\"title\":\"B\",\"key\":\"b\",\"after\":[\"a\"]}", ""),
        ("{\"title\":\"B\",\"key\":\"b\",\"verfy\":\"make\"}", "plan.jsonl:2: unknown field `verfy`"),
        ("{\"title\":\"B\",\"key\":\"b\",\"depends_on\":\"a\"}", "expected an array"),
        (
            "{\"title\":\"B\",\"key\":\"b\",\"depends_on\":[\"a\"],\"after\":[\"a\"]}",
            "`after` and `depends_on` mean the same",
        ),
        ("{\"title\":\"B\",\"key\":\"b\",\"depends_on\":[\"z\"]}", "`z` is not a task in this file"),
        ("{\"key\":\"b\"}", "plan.jsonl:2: a task needs a title"),
    ] {
        let project = Project::new();
        project.write("plan.jsonl", &format!("{a}{b}\n"));
        let output = project.ralph(&["import", "plan.jsonl"]);
        if refused.is_empty() {
            let a = project.task("a")["id"].clone();
            assert_eq!(project.task("b")["depends_on"], json!([a]), "{b}");
        } else {
            assert_eq!(output.code, 2, "{b}");
            assert!(output.stderr.contains(refused), "{b}: {}", output.stderr);
            assert_eq!(keys(&project).len(), 0);
        }
    }
}

#[test]
fn imp_07_cycles_in_ralphs_own_format_are_refused() {
    let project = Project::new();
    let line = |key: &str, after: &str| {
        format!("{{\"type\":\"task\",\"key\":\"{key}\",\"title\":\"{key}\",\"after\":[\"{after}\"]}}\n")
    };
    for text in [line("a", "b") + &line("b", "a"), line("a", "a")] {
        project.write("c.jsonl", &text);
        let output = project.ralph(&["import", "c.jsonl"]).expect_code(2);
        assert!(output.stderr.contains("cycle"), "{}", output.stderr);
        assert_eq!(keys(&project).len(), 0);
    }
}

#[test]
fn imp_07_what_other_programs_get_wrong_is_noted() {
    const CYCLE: &str = "depend on each other";
    let task = |id: u32, after: u32| {
        format!(
            "{{\"id\": {id}, \"title\": \"{id}\", \"status\": \"pending\", \"subtasks\": [], \"dependencies\": [{after}]}}"
        )
    };
    let gsd = "---\nphase: 01-a\nplan: 01\nwave: 1\ndepends_on: [01-01]\n---\n<objective>\nA\n</objective>\n";
    for (path, text, line, words) in [
        ("TODO.md", "# T\n\n- [ ] A1 a\n  After: B1\n- [ ] B1 b\n  After: A1\n".to_owned(), 3, CYCLE),
        ("tasks.md", "- [ ] 1.1 a (depends on 1.2)\n- [ ] 1.2 b (depends on 1.1)\n".to_owned(), 1, CYCLE),
        ("tasks.json", format!("{{\"tasks\": [\n{},\n{}]}}", task(1, 2), task(2, 1)), 2, CYCLE),
        (".planning/phases/01-a/01-01-PLAN.md", gsd.to_owned(), 5, CYCLE),
        (
            "prd.json",
            "[{\"id\": \"a\", \"title\": \"x\", \"passes\": false,\n\"dependsOn\": [\"b\"]}]".to_owned(),
            2,
            "`b` is not in this file",
        ),
        (
            "prd.json",
            "[{\"id\": \"a\",\n\"title\": \"x\" \"passes\": false}]".to_owned(),
            2,
            "Ralph reads it anyway",
        ),
        ("TODO.md", "## Phase 3A: x\n\n1. **[ ] a**\n\n### [ ] b\n".to_owned(), 5, "this is not a checkbox"),
    ] {
        let project = Project::new();
        project.agent("echo TASK_COMPLETE");
        project.write(path, &text);
        let report = project.json(&["import", if path.starts_with('.') { "." } else { path }, "--json"]);
        let notes = report["notes"].as_array().unwrap();
        let is_told = |note: &serde_json::Value| {
            note["line"] == line && note["path"] == path && note["text"].as_str().unwrap().contains(words)
        };
        assert!(notes.iter().any(is_told), "{path}: {notes:?}");
        project.ok(&["run", "--no-gate"]);
    }
}

#[test]
fn imp_06_a_linked_spec_keeps_its_own_state() {
    let project = Project::new();
    project.agent("echo TASK_COMPLETE");
    project.write("real/t.md", SPEC);
    std::fs::create_dir_all(project.path("specs/a")).unwrap();
    std::os::unix::fs::symlink("../../real/t.md", project.path("specs/a/tasks.md")).unwrap();
    project.write("specs/a/.ralph-state.json", "{\"mine\": 1}");
    project.ok(&["import", "specs/a"]);
    project.ok(&["run"]);
    assert!(project.path("specs/a/tasks.md").is_symlink());
    assert_eq!(project.read("real/t.md"), SPEC.replace("- [ ]", "- [x]"));
    let state: serde_json::Value = serde_json::from_str(&project.read("specs/a/.ralph-state.json")).unwrap();
    assert_eq!((&state["mine"], &state["totalTasks"]), (&json!(1), &json!(5)));
    assert!(!project.path("real/.ralph-state.json").exists());
}

#[test]
fn out_01_an_agent_does_not_change_its_own_gate() {
    let project = Project::new();
    project.agent("sed -i 's/`false`/`true`/' tasks.md; echo TASK_COMPLETE");
    project.write("tasks.md", "# T\n\n- [ ] 1.1 A\n  - **Verify**: `false`\n");
    project.ok(&["import", "tasks.md"]);
    project.ralph(&["run", "--limit", "2"]).expect_code(4);
    assert_eq!(project.task("1.1")["verify"], "false");
    assert_eq!(project.status_of("1.1"), "pending");
}

#[test]
fn plan_files_of_two_specs_do_not_mix() {
    let project = Project::new();
    project.agent("echo TASK_COMPLETE");
    project.write("a/tasks.md", "- [ ] 1.1 A\n");
    project.write("b/tasks.md", "- [ ] 2.1 B\n");
    project.ok(&["import", "a"]);
    project.ok(&["import", "b"]);
    project.ralph(&["run", "--once"]).expect_code(4);
    assert!(project.read("a/.progress.md").contains("1.1 A"));
    assert!(!project.path("b/.progress.md").exists(), "nothing to say yet");
    project.ok(&["run"]);
    assert!(project.read("b/.progress.md").contains("- [x] 2.1 B"));
}

#[test]
fn imp_08_a_file_that_is_no_plan_just_now_is_left_alone_until_it_is() {
    let project = Project::new();
    // At 1.1 somebody has cut all tasks out of the file; at 1.2 they are back.
    project.agent(
        "if [ \"$RALPH_TASK_KEY\" = 1.1 ]; then cp tasks.md whole.md; echo '# Later' > tasks.md; cp tasks.md broken.md\n\
         else cp tasks.md seen.md; cp whole.md tasks.md; fi\necho TASK_COMPLETE",
    );
    project.write("tasks.md", "- [ ] 1.1 One\n- [ ] 1.2 Two\n");
    project.ok(&["import", "tasks.md"]);
    let run = project.ok(&["run"]);
    assert!(run.stdout.contains("it is not a valid plan right now"), "{}", run.stdout);
    assert_eq!(project.read("seen.md"), project.read("broken.md"), "not a byte was changed");
    assert_eq!(project.read("tasks.md"), "- [x] 1.1 One\n- [x] 1.2 Two\n");
}
