//! Several specs side by side: each has its own keys and phases, and each file is kept in sync.

use serde_json::json;

use crate::support::Project;

const AUTH: &str = "# Tasks: auth\n\n## Phase 1: Work\n\n- [ ] 1.1 Add login\n  - **Do**: Write the form\n  \
    - **Verify**: `test -f login`\n- [ ] 1.2 Add logout\n  - **Verify**: `test -f logout`\n";
const BILLING: &str = "# Tasks: billing\n\n## Phase 1: Work\n\n- [ ] 1.1 Add invoice\n  - **Do**: Write the page\n  \
    - **Verify**: `test -f invoice`\n- [ ] 1.2 Add refund\n  - **Verify**: `test -f refund`\n";

/// An agent that makes the file its task is named after, unless `fails` names it, and reports its key.
fn project() -> Project {
    let project = Project::new();
    project.agent(
        "word=$(grep -o 'Add [a-z]*' .ralph/last-prompt | head -1); word=${word#Add }\n\
         echo \"$word\" >> order.txt\n\
         if [ -f \"does.$word\" ]; then . \"./does.$word\"; exit; fi\n\
         touch \"$word\"; echo \"<task-done>$RALPH_TASK_KEY</task-done>\"",
    );
    project.write("specs/auth/tasks.md", AUTH);
    project.write("specs/billing/tasks.md", BILLING);
    project.ok(&["import", "specs/auth"]);
    project
}

fn both() -> Project {
    let project = project();
    project.ok(&["import", "specs/billing"]);
    project
}

#[test]
fn plan_01_two_specs_with_the_same_keys_go_from_import_to_done() {
    let project = both();
    project.ok(&["run"]);
    assert_eq!(project.read("order.txt"), "login\nlogout\ninvoice\nrefund\n");
    for (spec, text) in [("auth", AUTH), ("billing", BILLING)] {
        assert_eq!(project.read(&format!("specs/{spec}/tasks.md")), text.replace("[ ]", "[x]"), "{spec}");
        let log = project.read(&format!("specs/{spec}/.progress.md"));
        assert!(log.contains("[x] 1.1 Add") && !log.contains(&format!("{spec}:1.1")), "{log}");
    }
    assert!(!project.read("specs/auth/.progress.md").contains("invoice"));
    let history = project.history();
    let names: Vec<_> = history.iter().map(|attempt| attempt["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["auth:1.1", "auth:1.2", "billing:1.1", "billing:1.2"]);
    assert_eq!((&history[2]["spec"], &history[2]["key"]), (&json!("billing"), &json!("1.1")));
    assert!(project.ok(&["history"]).stdout.contains("billing:1.1"));
}

#[test]
fn plan_01_one_spec_alone_is_shown_without_its_name() {
    let project = project();
    assert_eq!(project.task("1.1")["name"], "1.1");
    assert_eq!(project.task("1.1")["spec"], "auth");
    assert_eq!(project.task("auth:1.1")["title"], "Add login", "and yet it may be given");
    project.ok(&["import", "specs/billing"]);
    assert_eq!(project.task("auth:1.1")["name"], "auth:1.1");
}

#[test]
fn plan_01_an_ambiguous_key_is_an_error_that_lists_the_choices() {
    let project = both();
    for args in [
        &["task", "show", "1.1"][..],
        &["task", "done", "1.1"],
        &["task", "edit", "1.1", "--title", "x"],
        &["task", "skip", "1.1"],
        &["task", "reset", "1.1"],
        &["task", "delete", "1.1", "--yes"],
        &["task", "deps", "add", "auth:1.2", "1.1"],
        &["task", "deps", "list", "1.1"],
        &["task", "tree", "1.1"],
        &["task", "add", "x", "--after", "1.1"],
        &["run", "1.1"],
        &["history", "1.1"],
        &["failures", "show", "1.1"],
        &["context", "1.1"],
        &["logs", "1.1"],
    ] {
        let output = project.ralph(args).expect_code(2);
        assert!(
            output.stderr.contains("auth:1.") && output.stderr.contains("billing:1."),
            "{args:?}: {}",
            output.stderr
        );
    }
    assert!(project.ralph(&["task", "show", "other:1.1"]).expect_code(2).stderr.contains("no task"));
}

#[test]
fn plan_01_every_command_takes_a_key_with_its_spec() {
    let project = both();
    project.ok(&["task", "show", "billing:1.1"]);
    project.ok(&["task", "show", "specs/billing:1.1"]);
    project.ok(&["task", "edit", "billing:1.2", "--title", "Add refund now"]);
    assert_eq!(project.task("billing:1.2")["title"], "Add refund now");
    assert_eq!(project.task("auth:1.2")["title"], "Add logout");
    project.ok(&["task", "deps", "add", "auth:1.1", "billing:1.1"]);
    project.ok(&["context", "billing:1.1"]);
    project.ok(&["run", "billing:1.1"]);
    assert_eq!(project.read("order.txt"), "invoice\n");
    assert_eq!(project.status_of("auth:1.1"), "pending");
    project.ok(&["history", "billing:1.1"]);
    project.ok(&["logs", "billing:1.1"]);
    project.ok(&["task", "skip", "auth:1.2"]);
    project.ok(&["task", "reset", "auth:1.2"]);
    project.ok(&["task", "done", "auth:1.2"]);
    assert_eq!(
        (project.status_of("auth:1.2"), project.status_of("billing:1.2")),
        ("done".into(), "pending".into())
    );
    project.ok(&["task", "delete", "auth:1.2", "--yes"]);
    assert!(project.ok(&["task", "list"]).stdout.contains("billing:1.2"));
    assert!(project.ok(&["status"]).stdout.contains("billing:1.2"));
    let complete = project.ok(&["complete", "fish", "--", "ralph", "task", "show", "bill"]);
    assert!(complete.stdout.contains("billing:1.1"), "{}", complete.stdout);
}

#[test]
fn plan_01_tasks_added_by_hand_have_keys_of_their_own() {
    let project = project();
    let id = project.add(&["By hand", "--key", "1.1"]);
    let output = project.ralph(&["task", "show", "1.1"]).expect_code(2);
    assert!(output.stderr.contains("auth:1.1") && output.stderr.contains(&id), "{}", output.stderr);
    assert_eq!(project.task(&id)["spec"], json!(null));
    project.ralph(&["task", "add", "Again", "--key", "1.1"]).expect_code(2);
    assert_eq!(project.task("1.2")["title"], "Add logout", "what one task has needs no spec");
}

#[test]
fn agm_03_phases_are_of_a_spec_and_so_are_fix_tasks_and_split_parts() {
    let project = both();
    project.set("recovery", "enabled = true");
    project.write("does.login", "rm does.login; echo 'FAILURE_REASON: error: no form'");
    let split = json!({"type": "SPLIT_TASK", "originalTaskId": "1.1", "reasoning": "It is too large.", "proposedTasks": [
        {"title": "Add header", "description": "a", "verify": "test -f header"},
        {"title": "Add footer", "description": "b", "verify": "test -f footer"}]});
    project.write(
        "does.invoice",
        &format!("rm does.invoice; touch invoice; cat <<'END'\nTASK_MODIFICATION_REQUEST\n```json\n{split:#}\n```\nEND\n"),
    );
    project.ralph(&["run", "--limit", "1"]).expect_code(4);
    assert_eq!(project.task("auth:1.1.1")["spec"], "auth");
    let agents = project.read("AGENTS.md");
    assert!(agents.contains("### Phase auth 1:") && agents.contains("auth:1.1"), "{agents}");
    project.ok(&["run"]);
    let (auth, billing) = (project.read("specs/auth/tasks.md"), project.read("specs/billing/tasks.md"));
    assert!(auth.contains("- [x] 1.1.1 [FIX 1.1] Fix: ") && auth.contains("- [x] 1.1 Add login"), "{auth}");
    assert!(
        billing.contains("- [x] 1.1.1 Add header") && billing.contains("- [x] 1.1.2 Add footer"),
        "{billing}"
    );
    assert!(!billing.contains("FIX") && !auth.contains("header"));
    assert_eq!(project.task("billing:1.1.1")["title"], "Add header");
}

#[test]
fn imp_05_an_open_box_with_new_text_is_new_work_although_its_key_was_done() {
    let project = project();
    project.ok(&["run"]);
    let old = project.task("1.1")["id"].clone();
    // The file is replaced for the next feature: 1.1 is another task, 1.2 only has its box opened.
    let next = "# Tasks\n\n## Phase 1: Next\n\n- [ ] 1.1 Add export\n  - **Do**: Write a file\n  - **Verify**: `test -f export`\n\
        - [ ] 1.2 Add logout\n  - **Verify**: `test -f logout`\n- [ ] 1.3 Add import\n";
    project.write("specs/auth/tasks.md", next);
    let dry = project.json(&["import", "specs/auth", "--json", "--dry-run"]);
    assert_eq!(dry["replaced"].as_array().unwrap().len(), 1);
    let said = project.ok(&["import", "specs/auth"]);
    assert!(said.stdout.contains("1.1 is new work") && said.stdout.contains("1.1#old"), "{}", said.stdout);
    assert_ne!(project.task("1.1")["id"], old);
    assert_eq!((project.status_of("1.1"), project.status_of("1.2")), ("pending".into(), "done".into()));
    assert_eq!(project.task("1.1#old")["id"], old);
    assert_eq!(project.status_of("1.1#old"), "done");
    project.ok(&["run"]);
    assert_eq!(project.read("order.txt"), "login\nlogout\nexport\nimport\n");
    assert_eq!(project.read("specs/auth/tasks.md"), next.replace("[ ]", "[x]"));
    assert_eq!(project.json(&["import", "specs/auth", "--json"])["replaced"], json!([]));
}

#[test]
fn imp_08_a_checklist_is_kept_in_sync_and_only_its_boxes_change() {
    let project = Project::new();
    project.agent("echo \"$RALPH_TASK_ID\" >> order.txt; echo TASK_COMPLETE");
    let text =
        "# Things\r\n\r\n* [ ]  First thing\r\n  with a second line\r\n\r\n1. [ ] Second thing\n- [x] Old\n";
    project.write("TODO.md", text);
    project.ok(&["import", "TODO.md"]);
    project.ok(&["run"]);
    let after = project.read("TODO.md");
    let open = |text: &str| text.replace("[x]", "[ ]");
    assert_eq!(open(&after), open(text), "only boxes change");
    assert!(after.contains("* [x]  First thing\r\n") && after.contains("1. [x] Second thing\n"), "{after}");
    assert!(!project.path(".progress.md").exists(), "a checklist has no log beside it");
}

#[test]
fn imp_08_lines_that_appear_while_no_box_is_due_move_no_mark() {
    let project = Project::new();
    // The first attempt succeeds; during the second, which fails, somebody writes above the boxes.
    project.agent(
        "n=$(cat n 2>/dev/null || echo 0); echo $((n+1)) > n\n\
         if [ $n = 1 ]; then sed -i '1i A remark, longer than a mark.' TODO.md; echo TASK_FAILED: no; exit; fi\n\
         echo TASK_COMPLETE",
    );
    let todo = "# To do\n\n- [ ] One\n- [ ] Two\n- [ ] Three\n";
    project.write("TODO.md", todo);
    project.ok(&["import", "TODO.md"]);
    project.ok(&["run"]);
    let wanted = format!("A remark, longer than a mark.\n{}", todo.replace("[ ]", "[x]"));
    assert_eq!(project.read("TODO.md"), wanted);
}

#[test]
fn imp_08_a_persons_tick_is_believed_and_one_during_an_attempt_is_taken_back() {
    let project = both();
    // Between runs: a person's.
    project.write("specs/auth/tasks.md", &AUTH.replace("[ ] 1.1", "[x] 1.1"));
    // During an attempt: it may be the agent's.
    project.write(
        "does.logout",
        "rm does.logout; sed -i 's/^- \\[ \\] 1.2/- [x] 1.2/' specs/billing/tasks.md\n\
         printf '%s\\n' '- [x] 1.3 Add more' >> specs/billing/tasks.md\n\
         touch logout; echo TASK_COMPLETE",
    );
    let run = project.ralph(&["run", "--limit", "1"]).expect_code(4);
    assert_eq!(project.read("order.txt"), "logout\n");
    assert_eq!(project.status_of("auth:1.1"), "done");
    let billing = project.read("specs/billing/tasks.md");
    assert!(billing.contains("- [ ] 1.2 Add refund") && billing.contains("- [ ] 1.3 Add more"), "{billing}");
    for key in ["billing:1.2", "billing:1.3"] {
        assert!(run.stdout.contains(&format!("run `ralph task done {key}`")), "{}", run.stdout);
        assert_eq!(project.status_of(key), "pending");
    }
}

#[test]
fn imp_08_import_says_where_a_file_is_not_written() {
    let project = Project::new();
    project.add(&["One", "--key", "a"]);
    project.ok(&["export", "--output", "plan.jsonl"]);
    let said = project.ok(&["import", "plan.jsonl"]);
    assert!(said.stderr.contains("does not write to this format"), "{}", said.stderr);
    assert_eq!(project.json(&["import", "plan.jsonl", "--json"])["kept_in_sync"], false);
}
