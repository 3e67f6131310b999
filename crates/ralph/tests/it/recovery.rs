//! Recovery mode: a failed task gets a fix task, the fix is done, the task is tried again.

use serde_json::{Value, json};

use crate::support::{Output, Project, eventually};

mod storm;

const SPEC: &str = "# Tasks: auth\n\n## Phase 1: Make It Work\n\n\
    - [x] 1.1 Setup\n  - **Do**: Set up\n\
    - [x] 1.2 Base\n  - **Do**: Base\n\n\
    - [ ] 1.3 Add failure parser\n  - **Do**: Add parsing logic\n  - **Files**: implement.md\n  \
    - **Verify**: grep -q parser parser.txt\n  - **Commit**: feat: add parser\n\n\
    - [ ] 1.4 Next task\n  - **Do**: Go on\n";

/// An agent that does what a file named `KEY.N` says in its Nth attempt at KEY, else reports done.
fn project(spec: &str) -> Project {
    let project = Project::new();
    project.agent(
        "n=$(cat \"count.$RALPH_TASK_KEY\" 2>/dev/null || echo 0); n=$((n + 1))\n\
         echo $n > \"count.$RALPH_TASK_KEY\"\n\
         echo \"$RALPH_TASK_KEY\" >> order.txt\n\
         cp .ralph/last-prompt \"prompt.$RALPH_TASK_KEY.$n\"\n\
         if [ -f \"does.$RALPH_TASK_KEY.$n\" ]; then . \"./does.$RALPH_TASK_KEY.$n\"\n\
         elif [ -f \"does.$RALPH_TASK_KEY.all\" ]; then . \"./does.$RALPH_TASK_KEY.all\"\n\
         else echo parser >> parser.txt; echo TASK_COMPLETE; fi",
    );
    project.write("specs/auth/tasks.md", spec);
    project
}

fn fails(project: &Project, key: &str, attempt: &str, error: &str) {
    project.write(
        &format!("does.{key}.{attempt}"),
        &format!(
            "cat <<'END'\nTask {key}: Add failure parser FAILED\n- Error: {error}\n\
             - Attempted fix: Checked alternate paths\n- Status: Blocked, needs manual intervention\nEND\n"
        ),
    );
}

fn order(project: &Project) -> Vec<String> {
    let text = project.read("order.txt");
    text.lines().map(str::to_owned).collect()
}

fn state(project: &Project) -> Value {
    serde_json::from_str(&project.read("specs/auth/.ralph-state.json")).unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", output.stdout, output.stderr)
}

const BLOCK: &str = "- [ ] 1.3.1 [FIX 1.3] Fix: File not found: src/parser.ts\n  \
    - **Do**: Address the error: File not found: src/parser.ts\n    \
    1. Analyze the failure: Checked alternate paths\n    \
    2. Review related code in Files list\n    \
    3. Implement fix for: File not found: src/parser.ts\n  \
    - **Files**: implement.md\n  \
    - **Done when**: Error \"File not found: src/parser.ts\" no longer occurs\n  \
    - **Verify**: grep -q parser parser.txt\n  \
    - **Commit**: `fix(auth): address missing file from task 1.3`\n";

#[test]
fn rcx_01_rcg_06_rci_02_03_rcs_01_02_03_a_failure_gets_a_fix_that_comes_first() {
    let project = project(SPEC);
    project.write(
        "specs/auth/.ralph-state.json",
        "{\n  \"phase\": \"execution\",\n  \"taskIndex\": 2,\n  \"totalTasks\": 4,\n  \"mine\": [1.50, null],\n  \"fixTaskMap\": {}\n}\n",
    );
    project.ok(&["import", "specs/auth"]);
    fails(&project, "1.3", "1", "File not found: src/parser.ts");
    project.ralph(&["run", "--recovery", "--limit", "1"]).expect_code(4);
    let expected = SPEC.replace("\n- [ ] 1.4", &format!("\n{BLOCK}\n- [ ] 1.4"));
    assert_eq!(project.read("specs/auth/tasks.md"), expected);
    assert_eq!(
        state(&project),
        json!({
            "phase": "execution", "taskIndex": 2, "totalTasks": 5, "mine": [1.50, null],
            "fixTaskMap": {"1.3": {"attempts": 1, "fixTaskIds": ["1.3.1"], "lastError": "File not found: src/parser.ts"}},
        })
    );
    assert!(project.read("specs/auth/.ralph-state.json").contains("\"mine\": [1.50, null]"));
    let fix = project.task("1.3.1");
    assert_eq!(fix["markers"], json!(["FIX 1.3"]));
    assert_eq!(project.task("1.3")["depends_on"].as_array().unwrap().len(), 2);
    // The same once more changes nothing; then all of it is done.
    project.ok(&["import", "specs/auth"]);
    assert_eq!(state(&project)["totalTasks"], 5);
    project.ok(&["run", "--recovery"]);
    assert_eq!(order(&project), ["1.3", "1.3.1", "1.3", "1.4"]);
    assert_eq!(project.read("specs/auth/tasks.md"), expected.replace("- [ ]", "- [x]"));
    assert_eq!((&state(&project)["taskIndex"], &state(&project)["totalTasks"]), (&json!(5), &json!(5)));
}

#[test]
fn rci_02_rcs_03_the_index_minds_keys_that_the_author_used() {
    let part = "- [ ] 1.3.1 A part of it\n  - **Do**: Some\n\n";
    let project = project(&SPEC.replace("- [ ] 1.4", &format!("{part}- [ ] 1.4")));
    project.ok(&["import", "specs/auth"]);
    fails(&project, "1.3", "1", "broken");
    project.ralph(&["run", "--recovery", "--limit", "3"]).expect_code(4);
    assert_eq!(order(&project), ["1.3", "1.3.2", "1.3"]);
    let file = project.read("specs/auth/tasks.md");
    assert!(file.find("1.3.1 A part") < file.find("1.3.2 [FIX"), "{file}");
    assert_eq!(state(&project)["taskIndex"], 3, "the part comes next");
    let again = project.json(&["import", "specs/auth", "--json"]);
    assert_eq!(again["updated"], json!([]), "Ralph's own block is no news");
}

#[test]
fn rcx_02_rch_01_03_04_fixes_of_fixes_run_in_order_and_are_logged_once() {
    let project = project(SPEC);
    project.write(
        "specs/auth/.progress.md",
        "# Progress\n\n## Completed Tasks\n- [x] 1.1 Setup - abc1234\n\n## Learnings\n- Mine\n",
    );
    project.ok(&["import", "specs/auth/tasks.md"]);
    fails(&project, "1.3", "1", "syntax error in parser.ts");
    fails(&project, "1.3.1", "1", "the fix broke");
    project.ok(&["run", "--recovery"]);
    assert_eq!(order(&project), ["1.3", "1.3.1", "1.3.1.1", "1.3.1", "1.3", "1.4"]);
    let log = project.read("specs/auth/.progress.md");
    assert!(log.contains("- [x] 1.1 Setup - abc1234\n"), "{log}");
    assert!(log.contains("- [x] 1.3 Add failure parser"), "{log}");
    assert!(log.contains("- Task 1.3: 1 fix attempted (1.3.1) - Final: PASS\n"), "{log}");
    assert_eq!(log.matches("- Task 1.3: ").count(), 1, "{log}");
    assert!(!log.contains("Task 1.4:"), "{log}");
    let at = |text: &str| log.find(text).unwrap();
    assert!(at("## Fix Task History") < at("## Learnings") && at("## Learnings") < at("- Mine"), "{log}");
    assert!(project.read("specs/auth/tasks.md").contains("address syntax from task 1.3`"));
}

#[test]
fn rcl_03_05_rch_02_three_fixes_and_then_a_human() {
    let project = project(&SPEC.replace("- [ ] 1.4 Next", "- [ ] 1.4 [P] Next"));
    project.ok(&["import", "specs/auth"]);
    project.add(&["Elsewhere", "--key", "free"]);
    fails(&project, "1.3", "all", "it will not work");
    let run = project.ralph(&["run", "--recovery"]).expect_code(5);
    let said = said(&run);
    assert!(said.contains("ERROR: Max fix attempts (3) reached for task 1.3"), "{said}");
    assert!(said.contains("Fix attempts: 1.3.1, 1.3.2, 1.3.3"), "{said}");
    assert_eq!(said.matches("\nERROR: Max fix").count(), 1, "{said}");
    assert!(!said.contains("ALL_TASKS_COMPLETE"));
    assert_eq!(order(&project), ["1.3", "1.3.1", "1.3", "1.3.2", "1.3", "1.3.3", "1.3", "free"]);
    assert_eq!(project.status_of("1.3"), "blocked");
    assert_eq!(project.status_of("free"), "done", "the loop goes on");
    assert_eq!(project.task("1.3")["needs_human"], true);
    let reason = project.task("1.3")["reason"].as_str().unwrap().to_owned();
    assert!(reason.starts_with("Max fix attempts (3) reached for task 1.3. Tried script; "), "{reason}");
    assert!(reason.ends_with("fix tasks 1.3.1, 1.3.2, 1.3.3. Last: it will not work"), "{reason}");
    let log = project.read("specs/auth/.progress.md");
    let line = "- Task 1.3: 3 fixes attempted (1.3.1, 1.3.2, 1.3.3) - Final: FAIL (max limit)\n";
    assert!(log.contains(line), "{log}");
    // A person fixes it: a later pass replaces the line.
    std::fs::remove_file(project.path("does.1.3.all")).unwrap();
    project.ok(&["run", "1.3", "--recovery"]);
    let log = project.read("specs/auth/.progress.md");
    assert!(log.contains("- Task 1.3: 3 fixes attempted (1.3.1, 1.3.2, 1.3.3) - Final: PASS\n"), "{log}");
    assert!(!log.contains("FAIL"), "{log}");
}

#[test]
fn rcd_01_02_rcl_04_a_chain_ends_at_its_depth_and_waits_whole() {
    let project = project(SPEC);
    project.ok(&["import", "specs/auth"]);
    for key in ["1.3", "1.3.1", "1.3.1.1", "1.3.1.1.1"] {
        fails(&project, key, "all", &format!("broken at {key}"));
    }
    let run = project.ralph(&["run", "--recovery"]).expect_code(5);
    let said = said(&run);
    assert!(said.contains("ERROR: Max fix task depth (3) exceeded for task 1.3.1.1.1"), "{said}");
    assert!(said.contains("Fix task chain: 1.3 -> 1.3.1 -> 1.3.1.1 -> 1.3.1.1.1"), "{said}");
    assert!(said.contains("The fix chain has become too deep. Manual intervention required."), "{said}");
    for key in ["1.3", "1.3.1", "1.3.1.1", "1.3.1.1.1"] {
        assert_eq!(project.status_of(key), "blocked", "{key}");
    }
    let reason = project.task("1.3")["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("Fix task chain"), "{reason}");
    let log = project.read("specs/auth/.progress.md");
    assert!(log.contains("- Task 1.3: 1 fix attempted (1.3.1) - Final: FAIL"), "{log}");
    // One entry for the whole chain, with what failed last.
    let text = project.ok(&["status"]).stdout;
    let needs_you = text.split("Needs you\n").nth(1).unwrap();
    let needs_you = needs_you.split("\n\n").next().unwrap();
    assert_eq!(needs_you.matches("next: ").count(), 1, "{text}");
    for told in [
        " · blocked after 4 attempts (3 on fix tasks), last ",
        "      Max fix task depth (3) exceeded for task 1.3.1.1.1. Fix task chain: ",
        "Last: broken at 1.3.1.1.1",
        "next: ralph run 1.3\n",
    ] {
        assert!(text.contains(told), "{told:?} in\n{text}");
    }
    let blocked = project.json(&["status", "--json"])["last_run"]["blocked"].clone();
    let blocked = blocked.as_array().unwrap().iter();
    assert!(blocked.clone().count() == 4 && blocked.clone().all(|task| task["next"] == "ralph run 1.3"));
}

#[test]
fn rcl_01_recovery_is_off_unless_it_is_asked_for() {
    for (state, recovers) in [
        ("{\"recoveryMode\": true}", true),
        ("{\"recoveryMode\": false}", false),
        ("{\"recoveryMode\": \"true\"}", false),
        ("{\"recoveryMode\": null}", false),
        ("{}", false),
    ] {
        let project = project(SPEC);
        project.write("specs/auth/.ralph-state.json", state);
        project.ok(&["import", "specs/auth"]);
        fails(&project, "1.3", "1", "broken");
        project.ralph(&["run", "--once"]).expect_code(4);
        let made = project.ralph(&["task", "show", "1.3.1"]).code == 0;
        assert_eq!(made, recovers, "{state}");
    }
    let project = project(SPEC);
    project.ok(&["import", "specs/auth"]);
    fails(&project, "1.3", "1", "broken");
    project.set("recovery", "enabled = true");
    project.ralph(&["run", "--once", "--no-recovery"]).expect_code(4);
    assert_eq!(project.ralph(&["task", "show", "1.3.1"]).code, 2, "the flag wins");
}

#[test]
fn a_fix_task_that_uses_up_its_retries_is_named_where_its_chain_is_blocked() {
    let project = project(SPEC);
    project.ok(&["import", "specs/auth"]);
    fails(&project, "1.3", "all", "it will not work");
    fails(&project, "1.3.1", "all", "no idea");
    project.ralph(&["run", "--once", "--recovery"]).expect_code(4);
    project.ralph(&["run", "--no-recovery", "--max-attempts", "2"]).expect_code(5);
    let text = project.ok(&["status"]).stdout;
    let told = [
        "blocked after 3 attempts (2 on fix tasks)",
        "      fix task 1.3.1 failed 2 times in a row",
        ". Last: no idea\n",
    ];
    for told in told {
        assert!(text.contains(told), "{told:?} in\n{text}");
    }
    assert_eq!(text.matches("no idea").count(), 1, "{text}");
}

#[test]
fn rcl_02_without_recovery_a_task_is_retried_to_its_limit_and_that_is_said() {
    let project = project(SPEC);
    project.ok(&["import", "specs/auth"]);
    fails(&project, "1.3", "all", "it will not work");
    let run = project.ralph(&["run", "--max-attempts", "2"]).expect_code(5);
    let said = said(&run);
    for line in [
        "ERROR: Max retries reached for task 1.3 after 2 attempts",
        "it will not work",
        "Review .progress.md Learnings section for failure details",
        "`ralph run 1.3`",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    assert_eq!(order(&project), ["1.3", "1.3"]);
    let log = project.read("specs/auth/.progress.md");
    assert!(log.contains("- Task 1.3 failed: it will not work\n"), "{log}");
}

#[test]
fn rcx_03_a_fix_reads_the_report_and_passes_when_the_gate_fails_otherwise() {
    let project = project(&SPEC.replace("grep -q parser parser.txt", "`sh ./gate.sh`"));
    project.write(
        "gate.sh",
        "if [ -f fixed ]; then [ -f whole ] || { echo 'error[E0433]: cannot find b'; echo ' --> src/b.rs:1:1'; exit 1; }\n\
         else echo 'error[E0432]: unresolved a'; echo ' --> src/a.rs:2:2'; exit 1; fi\n",
    );
    project.ok(&["import", "specs/auth"]);
    project.write("does.1.3.1.1", "touch fixed; echo TASK_COMPLETE");
    project.write("does.1.3.2", "touch whole; echo TASK_COMPLETE");
    project.ok(&["run", "--recovery"]);
    assert_eq!(order(&project), ["1.3", "1.3.1", "1.3", "1.4"]);
    // Nobody is told that a gate passed which did not.
    let fix = &project.history()[1];
    assert_eq!((&fix["gate"], &fix["verified"]), (&json!("failed_differently"), &json!(false)));
    assert!(fix["message"].as_str().unwrap().contains("the original error is gone"), "{fix}");
    assert_eq!(project.task("1.3.1")["verified"], json!(false));
    let prompt = project.read("prompt.1.3.1.1");
    assert!(prompt.contains("### Failure to Fix"), "{prompt}");
    assert!(prompt.contains("task 1.3 (Add failure parser)") && prompt.contains("E0432"), "{prompt}");
    assert!(prompt.contains("Task KEY: NAME FAILED"), "{prompt}");
}

#[test]
fn rcx_03_a_fix_that_fixes_nothing_is_not_done() {
    // A silent gate, and one that prints the very error that the agent told.
    for gate in ["test -f ok", "sh -c 'echo words.txt: no such file; exit 1'"] {
        let project = project(&SPEC.replace("grep -q parser parser.txt", &format!("`{gate}`")));
        project.ok(&["import", "specs/auth"]);
        if gate.contains("words") {
            fails(&project, "1.3", "1", "words.txt: no such file");
        }
        project.ralph(&["run", "--recovery", "--limit", "2"]).expect_code(4);
        assert_eq!(project.status_of("1.3.1"), "pending", "{gate}");
        assert_eq!(order(&project), ["1.3", "1.3.1"]);
    }
}

#[test]
fn imp_05_what_ralph_wrote_is_no_change() {
    let project = project(
        &SPEC
            .replace("  - **Verify**: grep -q parser parser.txt\n", "")
            .replace("  - **Files**: implement.md\n", ""),
    );
    project.ok(&["import", "specs/auth"]);
    fails(&project, "1.3", "1", "broken");
    project.ralph(&["run", "--recovery", "--once"]).expect_code(4);
    let fix = project.task("1.3.1");
    let again = project.json(&["import", "specs/auth", "--json"]);
    assert_eq!((&again["updated"], &again["added"]), (&json!([]), &json!([])), "{again}");
    assert_eq!(project.task("1.3.1"), fix);
    assert_eq!(fix["verify"], Value::Null, "nothing to prove it with");
    let run = project.ok(&["run", "--recovery"]);
    assert!(!run.stdout.contains(" changed: "), "{}", run.stdout);
}

#[test]
fn rcl_01_each_spec_speaks_for_its_own_tasks() {
    let project = project(SPEC);
    project.write("specs/auth/.ralph-state.json", "{\"recoveryMode\": true, \"maxFixTasksPerOriginal\": 1}");
    project.write("specs/b/tasks.md", "# B\n\n- [ ] 9.1 Other\n");
    project.write("specs/b/.ralph-state.json", "{\"recoveryMode\": false}");
    project.ok(&["import", "specs/auth"]);
    project.ok(&["import", "specs/b"]);
    project.add(&["By hand", "--key", "hand"]);
    for key in ["1.3", "9.1", "hand"] {
        fails(&project, key, "all", &format!("broken {key}"));
    }
    let run = project.ralph(&["run", "--max-attempts", "3"]).expect_code(6);
    assert!(said(&run).contains("ERROR: Max fix attempts (1) reached for task 1.3"), "{}", said(&run));
    assert_eq!(
        said(&run).lines().filter(|line| line.starts_with("ERROR: Max fix attempts")).count(),
        1,
        "said once"
    );
    for fix in ["9.1.1", "hand.1"] {
        assert_eq!(project.ralph(&["task", "show", fix]).code, 2, "{fix}");
    }
}

#[test]
fn a_key_that_a_person_gave_in_the_file_meanwhile_is_not_taken() {
    let project = project(SPEC);
    project.ok(&["import", "specs/auth"]);
    project.write(
        "does.1.3.1",
        "printf '\\n- [ ] 1.3.1 My own\\n' >> specs/auth/tasks.md; echo 'FAILURE_REASON: broken'",
    );
    project.ok(&["run", "--recovery"]);
    assert_eq!(project.task("1.3.1")["title"], "My own");
    assert_eq!(project.task("1.3.2")["markers"], json!(["FIX 1.3"]));
    assert!(order(&project).contains(&"1.3.1".to_owned()));
}

#[test]
fn rcx_04_a_fix_that_is_done_does_not_finish_the_original() {
    let project = project(SPEC);
    project.ok(&["import", "specs/auth"]);
    fails(&project, "1.3", "1", "broken");
    project.ralph(&["run", "--recovery", "--limit", "2"]).expect_code(4);
    assert_eq!(project.status_of("1.3.1"), "done");
    assert_eq!(project.status_of("1.3"), "pending");
    let file = project.read("specs/auth/tasks.md");
    assert!(file.contains("- [ ] 1.3 Add") && file.contains("- [x] 1.3.1 [FIX"), "{file}");
}

#[test]
fn rcx_05_a_fix_that_nobody_needs_is_skipped() {
    for way in [&["task", "done", "1.3"][..], &["task", "skip", "1.3"], &["task", "delete", "1.3", "--yes"]] {
        let project = project(SPEC);
        project.ok(&["import", "specs/auth"]);
        fails(&project, "1.3", "1", "broken");
        fails(&project, "1.3.1", "1", "broken too");
        project.ralph(&["run", "--recovery", "--limit", "2"]).expect_code(4);
        project.ok(way);
        for fix in ["1.3.1", "1.3.1.1"] {
            assert_eq!(project.status_of(fix), "skipped", "{way:?} {fix}");
        }
        project.ok(&["run", "--recovery"]);
        assert_eq!(order(&project), ["1.3", "1.3.1", "1.4"], "{way:?}");
        // Nothing is left to fix in what is done.
        let boxes = project.read("specs/auth/tasks.md").matches("- [x] 1.3.1").count();
        assert_eq!(boxes, if way[1] == "done" { 2 } else { 0 }, "{way:?}");
    }
}

#[test]
fn rcx_01_faults_of_others_make_no_fix() {
    let project = project(SPEC);
    project.ok(&["import", "specs/auth"]);
    let toml = project.read(".ralph.toml");
    project.write(".ralph.toml", &toml.replace("[\"sh\", \"agent.sh\"]", "[\"/nowhere/agent\"]"));
    project.ralph(&["run", "--recovery"]).expect_code(1);
    assert_eq!(project.ralph(&["task", "show", "1.3.1"]).code, 2);
}

#[test]
fn rcp_01_the_failure_object_is_told_with_the_fix() {
    let project = project(SPEC);
    project.ok(&["import", "specs/auth"]);
    fails(&project, "1.3", "1", "File not found: src/parser.ts");
    let run = project.ralph(&["run", "--recovery", "--once", "--json"]).expect_code(4);
    let events = run.json_lines();
    let event = events.iter().find(|event| event["type"] == "fix_created").unwrap();
    let failure = &event["failure"];
    assert_eq!(failure["taskId"], "1.3");
    assert_eq!(failure["failed"], true);
    assert_eq!(failure["error"], "File not found: src/parser.ts");
    assert_eq!(failure["attemptedFix"], "Checked alternate paths");
    assert_eq!(failure["status"], "Blocked, needs manual intervention");
    assert!(failure["rawOutput"].as_str().unwrap().starts_with("Task 1.3: Add"));
}

#[test]
fn rcs_04_any_error_text_leaves_valid_files() {
    let project = project(SPEC);
    project.ok(&["import", "specs/auth"]);
    let error = r#"He said "no\" & `x` | $HOME <b> – \n ü"#;
    fails(&project, "1.3", "1", error);
    project.ok(&["run", "--recovery"]);
    assert_eq!(state(&project)["fixTaskMap"]["1.3"]["lastError"], error);
    project.ok(&["import", "specs/auth"]);
    assert_eq!(project.json(&["task", "list", "--json"]).as_array().unwrap().len(), 5);
}

#[test]
fn imp_06_fix_counts_of_a_state_file_are_kept() {
    let project = project(SPEC);
    project.write(
        "specs/auth/.ralph-state.json",
        "{\"fixTaskMap\": {\"1.3\": {\"attempts\": 2, \"fixTaskIds\": [\"1.3.1\", \"1.3.2\"], \"lastError\": \"old\"}}}",
    );
    project.ok(&["import", "specs/auth"]);
    fails(&project, "1.3", "all", "new");
    let run = project.ralph(&["run", "--recovery"]).expect_code(5);
    assert_eq!(order(&project), ["1.3", "1.3.3", "1.3"]);
    assert!(said(&run).contains("Fix attempts: 1.3.1, 1.3.2, 1.3.3"));
}

#[test]
fn brk_02_fix_tasks_count_as_their_root() {
    let project = project(SPEC);
    project.ok(&["import", "specs/auth"]);
    fails(&project, "1.3", "all", "error: the same again");
    project.ralph(&["run", "--recovery"]).expect_code(5);
    let breaker = project.json(&["breaker", "show", "--json"]);
    assert_eq!(breaker["state"], "closed", "one hard task never opens it: {breaker}");
}

#[test]
fn brk_08_models_escalate_along_a_chain_of_fixes_and_the_record_says_so() {
    let project = Project::new();
    project.agent("echo 'FAILURE_REASON: error: no rule to make target x'");
    let toml = project.read(".ralph.toml").replace(
        "command = [\"sh\", \"agent.sh\"]",
        "command = [\"sh\", \"agent.sh\"]\nmodels = [\"haiku\", \"sonnet\", \"opus\"]",
    );
    project.write(".ralph.toml", &toml);
    project.add(&["Parse", "--key", "1.3", "--verify", "test -f parser"]);
    project.ralph(&["run", "--recovery", "--strategy", "cost-optimized"]).expect_code(5);
    let tried: Vec<(String, String, String)> = project
        .history()
        .iter()
        .map(|a| ["key", "model", "rationale"].map(|name| a[name].as_str().unwrap().to_owned()))
        .map(|[key, model, why]| (key, model, why))
        .collect();
    let models: Vec<(&str, &str)> =
        tried.iter().map(|(key, model, _)| (key.as_str(), model.as_str())).collect();
    assert_eq!(models, [("1.3", "sonnet"), ("1.3.1", "sonnet"), ("1.3.1.1", "opus"), ("1.3.1.1.1", "opus")]);
    assert_eq!(tried[2].2, "escalated after 2 consecutive failures");
    let reason = project.task("1.3")["reason"].to_string();
    assert!(reason.contains("Tried sonnet, then opus"), "{reason}");
}

#[test]
fn rcx_01_plan_07_a_third_crash_in_a_row_gets_its_fix() {
    let project = Project::new();
    project.agent(
        "echo \"$RALPH_TASK_KEY\" >> order.txt\n\
         [ \"$(wc -l < order.txt)\" -le 3 ] && sleep 300\n\
         echo TASK_COMPLETE",
    );
    project.add(&["Parse", "--key", "k", "--verify", "test -f order.txt"]);
    for crash in 1..=3 {
        let mut child = project.start(&["run", "--recovery", "--quiet"]);
        eventually("the attempt", || {
            std::fs::read_to_string(project.path("order.txt")).is_ok_and(|text| text.lines().count() == crash)
        });
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let run = project.ok(&["run", "--recovery"]);
    assert_eq!(order(&project)[3..], ["k.1", "k"], "{}", run.stdout);
    assert_eq!(project.status_of("k.1"), "done");
}
