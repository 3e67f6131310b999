//! The circuit breaker: when everything fails, and what happens then.

use serde_json::json;

use crate::support::{Project, eventually};

/// Every attempt claims to be done; the gate has the word. While `broken` is there every gate fails the same way.
fn project(tasks: &[&str]) -> Project {
    let project = Project::new();
    project.agent("echo \"<task-done>$RALPH_TASK_ID</task-done>\"");
    project.write("gate.sh", "[ -f broken ] || exit 0\necho \"sh: 1: frobnicate: not found\"\nexit 1");
    project.write("broken", "");
    for key in tasks {
        project.add(&[&format!("Thing {key}"), "--key", key, "--verify", "sh gate.sh"]);
    }
    project
}

fn fix(project: &Project) {
    std::fs::remove_file(project.path("broken")).unwrap();
}

fn breaker(project: &Project) -> serde_json::Value {
    project.json(&["status", "--json"])["breaker"].clone()
}

#[test]
fn brk_02_05_ana_04_one_cause_on_two_tasks_opens_it_and_says_why() {
    let project = project(&["a", "b", "c"]);
    let output = project.ralph(&["run"]).expect_code(6);
    assert_eq!(project.history().len(), 6, "five on a, one on b");
    let lines: Vec<&str> = output.stdout.lines().collect();
    let at = lines.iter().position(|line| *line == "Failure Analysis:").unwrap();
    assert!(lines[at + 1].starts_with("  Pattern: 6 of 6: "), "{}", output.stdout);
    assert!(lines[at + 1].contains("frobnicate: not found"));
    let all = format!("{}{}", output.stdout, output.stderr);
    assert!(all.contains("Circuit breaker triggered"), "{all}");
    assert_eq!(output.stdout.matches("Failure Analysis:").count(), 1);
    let state = project.read(".ralph/STATE.md");
    assert_eq!(state.matches("Failure Analysis").count(), 1, "{state}");
    assert!(state.contains("frobnicate"));
    let open = breaker(&project);
    assert_eq!((&open["state"], &open["failures"]), (&json!("open"), &json!(6)));
    assert!(open["opened_at"].is_string());
}

#[test]
fn brk_01_02_any_number_of_failures_on_one_task_does_not_open_it() {
    let project = project(&["a"]);
    project.ralph(&["run", "--max-attempts", "9"]).expect_code(5);
    assert_eq!(project.history().len(), 9);
    assert_eq!(breaker(&project)["state"], "closed");
    assert_eq!(breaker(&project)["failures"], 9);
}

#[test]
fn brk_04_failures_in_several_processes_count_together() {
    let project = project(&["a", "b", "c"]);
    for _ in 0..5 {
        project.ralph(&["run", "--once"]).expect_code(4);
    }
    project.ralph(&["run", "--once"]).expect_code(6);
}

#[test]
fn brk_03_a_success_sets_the_count_back() {
    let project = project(&["a", "b", "c"]);
    project.ralph(&["run", "--limit", "4"]).expect_code(4);
    assert_eq!(breaker(&project)["failures"], 4);
    fix(&project);
    project.ralph(&["run", "--once"]).expect_code(4);
    assert_eq!(breaker(&project)["failures"], 0);
}

#[test]
fn brk_06_the_next_run_probes_and_a_success_forgives() {
    let project = project(&["a", "b", "c"]);
    project.ralph(&["run"]).expect_code(6);
    assert_eq!(project.status_of("a"), "blocked");
    // Still broken: one attempt, and it is open again.
    let output = project.ralph(&["run"]).expect_code(6);
    assert_eq!(project.history().len(), 7);
    assert!(output.stdout.contains("running one trial attempt"), "{}", output.stdout);
    fix(&project);
    project.ok(&["run"]);
    assert_eq!(project.status_of("a"), "done", "what it blocked was tried again");
    assert_eq!(breaker(&project)["state"], "closed");
    let rows = project.history();
    assert_eq!(rows.len(), 10);
    assert_eq!(rows[7]["key"], "b", "the probe");
}

#[test]
fn brk_06_others_wait_for_the_probe() {
    let project = project(&["a", "b", "c"]);
    project.ralph(&["run"]).expect_code(6);
    project.write(
        "agent.sh",
        "cat >/dev/null\nls .ralph/at-work* 2>/dev/null | wc -l >> .ralph/together\n\
         touch .ralph/at-work.$$\nwhile [ ! -f go ]; do sleep 0.02; done\nrm .ralph/at-work.$$\necho \"<task-done>$RALPH_TASK_ID</task-done>\"",
    );
    let mut first = project.start(&["run"]);
    eventually("the probe is under way", || project.path(".ralph/together").exists());
    let mut second = project.start(&["run"]);
    let runs = || project.json(&["status", "--json"])["active"].as_array().map(Vec::len);
    eventually("the second run waits", || runs() == Some(2));
    project.write("go", "");
    assert_eq!(first.wait().unwrap().code(), Some(6));
    assert_eq!(second.wait().unwrap().code(), Some(6));
    assert_eq!(project.history().len(), 7, "one probe for both");
    assert_eq!(project.read(".ralph/together").trim(), "0");
}

#[test]
fn brk_07_threshold_and_cooling_down_are_settings() {
    let mut project = project(&["a", "b", "c"]);
    project.set_env("RALPH_SET_BREAKER_THRESHOLD", "2");
    project.set_env("RALPH_SET_RUN_MAX_ATTEMPTS", "1");
    project.ralph(&["run"]).expect_code(6);
    assert_eq!(project.history().len(), 2);
    project.ok(&["breaker", "reset"]);
    let mut project = self::project(&["a", "b", "c", "d"]);
    project.set_env("RALPH_SET_BREAKER_THRESHOLD", "2");
    project.set_env("RALPH_SET_RUN_MAX_ATTEMPTS", "1");
    project.set_env("RALPH_SET_BREAKER_ON_OPEN", "wait");
    project.set_env("RALPH_SET_BREAKER_COOLDOWN", "1");
    project.write(
        "agent.sh",
        "cat >/dev/null\n[ $RALPH_TASK_KEY = c ] && rm broken\necho \"<task-done>$RALPH_TASK_ID</task-done>\"",
    );
    let output = project.ok(&["run"]);
    assert!(output.stdout.contains("cooldown"), "{}", output.stdout);
    let keys: Vec<String> = project.history().iter().map(|a| a["key"].as_str().unwrap().to_owned()).collect();
    assert_eq!(keys, ["a", "b", "c", "a", "b", "d"]);
}

#[test]
fn brk_03_faults_of_the_service_do_not_count() {
    let project = project(&["a", "b", "c"]);
    project.ralph(&["run", "--limit", "3"]).expect_code(4);
    project.write("agent.sh", "exec /nowhere/at/all");
    let before = breaker(&project);
    let toml = project.read(".ralph.toml").replace("[\"sh\", \"agent.sh\"]", "[\"/nowhere/at/all\"]");
    project.write(".ralph.toml", &toml);
    project.ralph(&["run"]).expect_code(1);
    assert_eq!(breaker(&project), before);
}

#[test]
fn breaker_show_and_reset() {
    let project = project(&["a", "b"]);
    project.ralph(&["run"]).expect_code(6);
    let shown = project.ok(&["breaker", "show"]).stdout;
    assert!(shown.starts_with("open since ") && shown.contains("ralph breaker reset"), "{shown}");
    let shown = project.json(&["breaker", "show", "--json"]);
    assert_eq!(
        (&shown["state"], &shown["failures"], &shown["threshold"], &shown["tasks"]),
        (&json!("open"), &json!(6), &json!(5), &json!(2))
    );
    let reset = project.json(&["breaker", "reset", "--json"]);
    assert_eq!((&reset["state"], &reset["failures"]), (&json!("closed"), &json!(0)));
    assert_eq!(project.status_of("a"), "pending");
    assert_eq!(project.task("a")["consecutive_failures"], 0);
}

#[test]
fn brk_05_json_lines_carry_the_analysis_and_nothing_else_is_on_stdout() {
    let project = project(&["a", "b"]);
    let output = project.ralph(&["run", "--json"]).expect_code(6);
    let events = output.json_lines();
    let opened = events.iter().find(|event| event["type"] == "breaker_opened").unwrap();
    assert_eq!(opened["failures"], 6);
    assert!(opened["analysis"]["pattern"].as_str().unwrap().contains("frobnicate"));
    assert!(output.stderr.contains("Circuit breaker triggered"), "{}", output.stderr);
}

#[test]
fn ana_01_02_analyze_names_what_failures_have_in_common() {
    let project = project(&["1.1", "1.2"]);
    let nothing = project.ok(&["analyze"]);
    assert_eq!(nothing.stdout, "");
    assert_eq!(nothing.stderr, "no failures to analyze\n");
    project.ralph(&["run"]).expect_code(6);
    let text = project.ok(&["analyze"]).stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert!((4..=6).contains(&lines.len()), "{text}");
    assert_eq!(lines[0], "Failure Analysis:");
    assert!(lines.last().unwrap().starts_with("  Suggestion: "), "{text}");
    assert!(text.contains("Shared: key prefix 1"), "{text}");
    let json = project.json(&["analyze", "--json"]);
    assert_eq!(json["failures"], 6);
    assert!(json["suggestion"].as_str().unwrap().contains("frobnicate"), "{json}");
}

#[test]
fn ana_05_06_state_md_shows_where_the_run_stands() {
    let project = project(&["a", "c"]);
    project.write("gate.sh", "[ -f broken ] || exit 0\necho \"error: x | y\"\nexit 1");
    project.ralph(&["run", "--limit", "2"]).expect_code(4);
    let state = project.read(".ralph/STATE.md");
    let (_, rest) = state.split_once("<!-- HISTORY_START -->").unwrap();
    let (table, _) = rest.split_once("<!-- HISTORY_END -->").unwrap();
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert_eq!(rows.len(), 2, "{table}");
    assert!(rows[0].starts_with("| 2 |") && rows[1].starts_with("| 1 |"), "{table}");
    assert!(rows[0].contains("FAILURE") && rows[0].contains("x \\| y"), "{table}");
    assert!(state.contains("0 of 2") || state.contains("0%"), "{state}");
    project.ok(&["task", "skip", "a"]);
    fix(&project);
    project.ok(&["run"]);
    let state = project.read(".ralph/STATE.md");
    assert!(
        // The skipped task is not done.
        state.contains("SUCCESS") && state.contains("50%") && state.contains(" · 1 skipped"),
        "{state}"
    );
    let left: Vec<String> = std::fs::read_dir(project.path(".ralph"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with(".ralph-"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn demo_broken_opens_the_breaker_and_names_the_cause() {
    let project = Project::empty();
    let dir = project.path("demo");
    let dir = dir.to_str().unwrap();
    let output = project.ralph(&["demo", "--broken", "--fast", "--dir", dir]).expect_code(6);
    assert!(output.stdout.contains("todo-check"), "{}", output.stdout);
    assert!(output.stdout.contains("Circuit breaker triggered"), "{}", output.stdout);
    assert!(output.stdout.contains("Failure Analysis:"), "{}", output.stdout);
    let lib = project.read("demo/tests/lib.sh");
    project.write("demo/tests/lib.sh", &lib.replace("todo-check --version || exit 1\n", ""));
    project.ralph(&["-C", dir, "run"]).expect_code(0);
}

#[test]
fn brk_08_a_task_that_is_given_up_says_what_was_tried() {
    let project = project(&["a"]);
    let toml = project.read(".ralph.toml").replace(
        "command = [\"sh\", \"agent.sh\"]",
        "command = [\"sh\", \"agent.sh\"]\nmodels = [\"haiku\", \"sonnet\", \"opus\"]",
    );
    project.write(".ralph.toml", &toml);
    project.ralph(&["run", "--strategy", "cost-optimized"]).expect_code(5);
    let task = project.task("a");
    let reason = task["reason"].as_str().unwrap();
    let tried = "failed 5 times in a row (sonnet, then opus; asked to diagnose first). Last: ";
    assert!(reason.starts_with(tried), "{reason}");
}

#[test]
fn brk_02_failures_before_a_persons_reset_are_no_part_of_the_pattern() {
    let mut project = project(&["a", "b", "c"]);
    project.set_env("RALPH_SET_BREAKER_THRESHOLD", "3");
    project.write("gate.sh", "echo \"error: $(cat broken)\"; exit 1");
    project.write("broken", "old wheels");
    project.ralph(&["run", "a", "--limit", "2"]).expect_code(4);
    project.ok(&["task", "reset", "a"]);
    project.write("broken", "no fuel");
    let run = project.ralph(&["run", "--max-attempts", "1"]).expect_code(6);
    let pattern = "  Pattern: 3 of 3: error: no fuel (the gate `sh gate.sh` exited with code 1)\n";
    assert!(run.stdout.contains(pattern), "{}", run.stdout);
}

#[test]
fn brk_02_agents_that_end_without_a_word_share_a_cause() {
    let project = project(&["a", "b"]);
    project.write("agent.sh", "cat >/dev/null\nexit 3");
    project.ralph(&["run"]).expect_code(6);
    assert_eq!(project.history().len(), 6);
}

#[test]
fn brk_02_fp_05_reports_that_say_the_same_share_a_cause() {
    let project = project(&["a", "b"]);
    project.write(
        "agent.sh",
        "cat >/dev/null\necho '<failure-report>'\necho 'what_tried: this'\n\
         echo \"why_failed: Error: no database after $RALPH_ATTEMPT tries\"\necho '</failure-report>'\n\
         echo \"<task-failed>$RALPH_TASK_ID</task-failed>\"",
    );
    project.ralph(&["run"]).expect_code(6);
    let history = project.history();
    assert_eq!(history.len(), 6, "five on a, one on b");
    let mark = &history[0]["fingerprint_coarse"];
    assert!(mark.is_string() && history.iter().all(|row| row["fingerprint_coarse"] == *mark));
}

#[test]
fn failures_forgiven_during_an_attempt_stay_forgiven() {
    let mut project = project(&["a"]);
    project.set_env("RALPH_SET_RUN_MAX_ATTEMPTS", "3");
    project.ralph(&["run", "--limit", "2"]).expect_code(4);
    // The attempt itself is the moment at which somebody closes the breaker.
    project.write(
        "agent.sh",
        "cat >/dev/null; touch begun; while [ ! -e forgiven ]; do sleep 0.02; done
         echo \"<task-done>$RALPH_TASK_ID</task-done>\"",
    );
    let mut run = project.start(&["run", "--once"]);
    eventually("the attempt begins", || project.path("begun").exists());
    project.ok(&["breaker", "reset"]);
    project.write("forgiven", "");
    assert_eq!(run.wait().unwrap().code(), Some(4));
    let task = project.task("a");
    assert_eq!((&task["status"], &task["consecutive_failures"]), (&json!("pending"), &json!(1)));
}

#[test]
fn brk_06_a_parents_gate_runs_although_the_breaker_is_open() {
    let project = Project::new();
    project.agent("echo \"<task-done>$RALPH_TASK_ID</task-done>\"");
    project.add(&["Whole", "--key", "p", "--verify", "test -f whole"]);
    project.add(&["Part", "--key", "c", "--parent", "p"]);
    project.write("whole", "");
    project.ok(&["task", "done", "c"]);
    project.database().execute("UPDATE breaker SET state = 'open', failures = 5", []).unwrap();
    project.ok(&["run"]);
    assert_eq!(project.status_of("p"), "done");
    assert_eq!(project.history().len(), 0);
}
