//! `ralph run` with a command as agent: outcomes, limits, exit codes, events.

use std::fs;

use serde_json::{Value, json};

use crate::support::Project;

pub const DONE: &str = "echo '<no-change-needed>Nothing was asked for.</no-change-needed>'; echo \"<task-done>$RALPH_TASK_ID</task-done>\"";
const FAILED: &str = "echo \"<task-failed>$RALPH_TASK_ID</task-failed>\"";

pub fn project(agent: &str) -> Project {
    let project = Project::new();
    project.agent(agent);
    project
}

pub fn outcomes(project: &Project) -> Vec<(String, Value)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    project.history().iter().map(|a| (text(&a["outcome"]), a["error_type"].clone())).collect()
}

#[test]
fn out_01_done_needs_the_signal_and_the_gate() {
    let project = project(&format!("echo yes > made; {DONE}"));
    project.add(&["A", "--verify", "grep -q yes made"]);
    project.ok(&["run"]);
    assert_eq!(outcomes(&project), [("done".to_owned(), Value::Null)]);
}

#[test]
fn out_02_a_failing_gate_is_a_failed_attempt_that_the_next_one_sees() {
    let project = project(DONE);
    project.add(&["A", "--key", "a", "--verify", "echo 'FAIL: widget is square' >&2; exit 3"]);
    project.ralph(&["run", "--limit", "2"]).expect_code(4);
    let expected = ("failed".to_owned(), json!("test_failure"));
    assert_eq!(outcomes(&project), [expected.clone(), expected]);
    // PLAN-08 and ATT-05
    let prompt = project.read(".ralph/last-prompt");
    assert!(prompt.contains("### Previous Attempts"), "{prompt}");
    assert!(prompt.contains("FAIL: widget is square"), "{prompt}");
    assert_eq!(project.task("a")["consecutive_failures"], json!(2));
}

#[test]
fn out_03_no_signal_counts_and_ends_at_max_attempts() {
    let project = project("echo I think it works");
    project.add(&["A", "--key", "a"]);
    project.ralph(&["run"]).expect_code(5);
    assert_eq!(outcomes(&project), vec![("no_sigil".to_owned(), Value::Null); 5]);
    let task = project.task("a");
    assert_eq!((&task["status"], &task["needs_human"]), (&json!("blocked"), &json!(true)));
    assert_eq!(task["attempts"], json!(5));
}

#[test]
fn str_04_a_blocked_task_does_not_hold_up_the_rest() {
    let project = project(&format!("case $RALPH_TASK_KEY in bad) {FAILED};; *) {DONE};; esac"));
    project.add(&["Bad", "--key", "bad"]);
    project.add(&["After bad", "--key", "waits", "--after", "bad"]);
    project.add(&["Good", "--key", "good"]);
    project.ralph(&["run", "--max-attempts", "2"]).expect_code(5);
    assert_eq!(project.status_of("bad"), "blocked");
    assert_eq!(project.status_of("good"), "done");
    assert_eq!(project.status_of("waits"), "pending");
    let status = project.ok(&["status"]).stdout;
    assert!(status.contains("waits After bad · waiting for bad (blocked)"), "{status}");
    // Naming a blocked task is the go-ahead to try it again.
    project.ralph(&["run", "bad", "--once"]).expect_code(4);
    assert_eq!(project.status_of("bad"), "pending");
}

#[test]
fn out_10_every_other_exit_code_is_captured() {
    let project = project(&format!("{DONE}; exit 42"));
    project.add(&["A"]);
    project.ralph(&["run", "--once"]).expect_code(4);
    assert_eq!(outcomes(&project), [("error".to_owned(), json!("crash"))]);
    assert_eq!(project.history()[0]["counted"], json!(true));
}

#[test]
fn a_failed_signal_beside_a_bad_exit_is_failed() {
    let project = project(&format!("{FAILED}; exit 1"));
    project.add(&["A"]);
    project.ralph(&["run", "--once"]).expect_code(4);
    assert_eq!(outcomes(&project), [("failed".to_owned(), Value::Null)]);
}

#[test]
fn out_09_prose_of_limits_and_errors_changes_nothing() {
    let project = project("echo 'rate limit reached, 401 unauthorized, overloaded, 529'");
    project.add(&["A"]);
    project.ralph(&["run", "--once"]).expect_code(4);
    assert_eq!(outcomes(&project), [("no_sigil".to_owned(), Value::Null)]);
}

#[test]
fn out_11_a_done_attempt_leaves_no_report() {
    let project = project(&format!("echo 'error: this was fixed'; {DONE}"));
    project.add(&["A"]);
    project.ok(&["run"]);
    let reports: i64 =
        project.database().query_row("SELECT count(*) FROM failure_reports", [], |row| row.get(0)).unwrap();
    assert_eq!(reports, 0);
}

#[test]
fn out_07_an_agent_that_cannot_be_started_stops_the_run_uncounted() {
    let project = Project::new();
    project.configure("[agents.gone]\nkind = \"command\"\ncommand = [\"/does/not/exist\"]");
    project.add(&["A", "--key", "a"]);
    let output = project.ralph(&["run", "--agent", "gone"]).expect_code(1);
    assert!(output.stderr.contains("/does/not/exist") && output.stderr.contains("hint"), "{}", output.stderr);
    assert_eq!(outcomes(&project), [("error".to_owned(), json!("spawn"))]);
    assert_eq!(project.history()[0]["counted"], json!(false));
    let task = project.task("a");
    assert_eq!((&task["attempts"], &task["status"]), (&json!(0), &json!("pending")));
    assert_eq!(project.json(&["status", "--json"])["breaker"]["failures"], json!(0));
    let database = project.database();
    let rows = "SELECT count(*) FROM strategy_metrics";
    let rows: i64 = database.query_row(rows, [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 0, "an uncounted attempt makes no metrics");
}

#[test]
fn exit_01_02_finished_no_plan_limits() {
    let project = project(DONE);
    project.ralph(&["run"]).expect_code(3);
    for n in 0..3 {
        project.add(&[&format!("Task {n}")]);
    }
    project.ralph(&["run", "--limit", "2"]).expect_code(4);
    assert_eq!(project.history().len(), 2);
    // The limit is met and everything is done: that is a success.
    project.ralph(&["run", "--once"]).expect_code(0);
    project.ralph(&["run"]).expect_code(0);
    assert_eq!(project.history().len(), 3);
    Project::empty().ralph(&["run"]).expect_code(3);
}

#[test]
fn exit_02_the_time_limit_ends_a_run_with_work_left() {
    let project = project(&format!("sleep 0.3; {DONE}"));
    for n in 0..20 {
        project.add(&[&format!("Task {n}")]);
    }
    project.ralph(&["run", "--max-minutes", "0.01"]).expect_code(4);
    let made = project.history().len();
    assert!((1..20).contains(&made), "{made}");
}

#[test]
fn exit_03_a_promise_of_failure_aborts_and_one_of_completion_does_nothing() {
    let project = project("echo '<promise>COMPLETE</promise>'");
    project.add(&["A", "--key", "a"]);
    project.add(&["B", "--key", "b"]);
    project.ralph(&["run", "--once"]).expect_code(4);
    assert_eq!(project.status_of("a"), "pending");
    project.write("agent.sh", &format!("cat >/dev/null; {DONE}; echo '<promise>FAILURE</promise>'"));
    project.ralph(&["run"]).expect_code(7);
    assert_eq!(outcomes(&project)[1].0, "failed");
    assert_eq!(project.history().len(), 2);
}

#[test]
fn sig_02_another_tasks_signal_is_nothing() {
    let project = project("echo '<task-done>t-000000</task-done>'; echo '<task-done>b</task-done>'");
    project.add(&["A", "--key", "a"]);
    project.ralph(&["run", "--once"]).expect_code(4);
    assert_eq!(outcomes(&project)[0].0, "no_sigil");
    project.write("agent.sh", "cat > /dev/null; echo '  `<task-done> a </task-done>`  '");
    project.ok(&["run"]);
}

#[test]
fn sig_09_next_model_holds_for_the_next_attempt() {
    let project = Project::new();
    project
        .agent("echo '<next-model>huge</next-model><next-model>large</next-model>'; echo \"$1\" >> models");
    let toml = project.read(".ralph.toml").replace(
        "command = [\"sh\", \"agent.sh\"]",
        "command = [\"sh\", \"agent.sh\", \"{model}\"]\nmodels = [\"small\", \"medium\", \"large\"]",
    );
    project.write(".ralph.toml", &toml);
    project.add(&["A"]);
    project.ralph(&["run", "--limit", "2"]).expect_code(4);
    assert_eq!(project.read("models"), "small\nlarge\n");
    assert_eq!(project.history()[1]["rationale"], json!("hinted by previous iteration"));
    project.ralph(&["run", "--once", "--model", "small"]).expect_code(4);
    assert_eq!(project.history()[2]["model"], json!("small"));
}

#[test]
fn cli_04_a_command_agent_gets_prompt_and_environment() {
    let project = project(&format!("env | grep ^RALPH_ | sort > env.txt; pwd > pwd.txt; {DONE}"));
    let id = project.add(&["A title", "--key", "1.3", "-d", "The description"]);
    let expected = project.ok(&["context", "1.3"]).stdout;
    project.ok(&["run"]);
    // CTX-06: what `context` printed is what the agent got.
    assert_eq!(project.read(".ralph/last-prompt"), expected);
    assert!(expected.starts_with("## "), "{expected}");
    let task =
        format!("## Assigned Task\n\n**ID:** {id}\n**Title:** A title\n\n### Description\nThe description\n");
    assert!(expected.ends_with(&task), "{expected}");
    let env = project.read("env.txt");
    let root = project.root().canonicalize().unwrap();
    for line in [
        format!("RALPH_TASK_ID={id}"),
        "RALPH_TASK_KEY=1.3".into(),
        "RALPH_ATTEMPT=1".into(),
        "RALPH_MODEL=script".into(),
        format!("RALPH_PROJECT={}", root.display()),
    ] {
        assert!(env.lines().any(|have| have == line), "{line} in {env}");
    }
    assert!(env.contains("RALPH_RUN_ID=r-"));
    assert_eq!(project.read("pwd.txt").trim(), root.display().to_string());
}

#[test]
fn run_json_prints_events_and_nothing_else() {
    let project = project(DONE);
    project.add(&["A", "--key", "a", "--verify", "true"]);
    let output = project.ok(&["run", "--json"]);
    let events = output.json_lines();
    let types: Vec<&str> = events.iter().map(|e| e["type"].as_str().unwrap()).collect();
    assert_eq!(types.first(), Some(&"run_started"));
    assert_eq!(types.last(), Some(&"run_finished"));
    for kind in ["attempt_started", "attempt_finished", "gate_finished"] {
        assert!(types.contains(&kind), "{types:?}");
    }
    let mut last = 0;
    for event in &events {
        assert_eq!(event["v"], json!(1));
        assert!(event["run_id"].as_str().unwrap().starts_with("r-"));
        assert!(event["worker"].is_string() && event["at"].as_str().unwrap().ends_with('Z'));
        let seq = event["seq"].as_u64().unwrap();
        assert!(seq > last);
        last = seq;
    }
    let stored: i64 =
        project.database().query_row("SELECT count(*) FROM run_events", [], |row| row.get(0)).unwrap();
    assert!(stored >= 4, "{stored}");
}

#[test]
fn dry_run_changes_nothing() {
    let project = project(DONE);
    project.add(&["A", "--key", "a"]);
    let output = project.ok(&["run", "--dry-run"]);
    assert!(output.stdout.contains("a A") && output.stdout.contains("attempt 1"), "{}", output.stdout);
    assert!(project.history().is_empty());
    let runs: i64 = project.database().query_row("SELECT count(*) FROM runs", [], |r| r.get(0)).unwrap();
    assert_eq!(runs, 0);
}

#[test]
fn history_json_has_the_fields_of_the_contract() {
    let project = Project::with_git();
    project.agent(&format!("echo x > made.txt; {DONE}"));
    let id = project.add(&["A", "--key", "a"]);
    project.ok(&["run"]);
    let attempt = project.history().remove(0);
    assert_eq!(attempt["task_id"], json!(id));
    for (field, value) in [
        ("key", json!("a")),
        ("attempt", json!(1)),
        ("iteration", json!(1)),
        ("model", json!("script")),
        ("outcome", json!("done")),
        ("error_type", Value::Null),
        ("cost_usd", Value::Null),
        ("tokens_input", Value::Null),
        ("tokens_output", Value::Null),
        ("commit_before", Value::Null),
        ("commit_after", Value::Null),
        ("files_changed", json!(["agent.sh", "made.txt"])),
    ] {
        // The agent's script was written before the run, so only what it made counts.
        let value = if field == "files_changed" { json!(["made.txt"]) } else { value };
        assert_eq!(attempt[field], value, "{field}");
    }
    assert!(attempt["run_id"].as_str().unwrap().starts_with("r-"));
    assert!(attempt["duration_ms"].is_u64() && attempt["rationale"].is_string());
    assert!(attempt["started_at"].as_str().unwrap().ends_with('Z'));
}

#[test]
fn a_scope_covers_named_tasks_their_children_and_with_deps_what_they_need() {
    let project = project(DONE);
    project.add(&["Base", "--key", "base"]);
    project.add(&["Top", "--key", "top"]);
    project.add(&["Part", "--key", "part", "--parent", "top", "--after", "base"]);
    project.add(&["Other", "--key", "other"]);
    let refused = project.ralph(&["run", "top"]).expect_code(5);
    assert!(refused.stderr.contains("base (pending)") && refused.stderr.contains("--with-deps"));
    project.ok(&["run", "top", "--with-deps"]);
    assert_eq!(project.status_of("part"), "done");
    assert_eq!(project.status_of("other"), "pending");
}

#[test]
fn ralph_run_inside_an_attempt_is_refused() {
    let mut project = project(DONE);
    project.add(&["A"]);
    project.set_env("RALPH_RUN_ID", "r-00000000");
    let refused = project.ralph(&["run"]).expect_code(2);
    assert!(refused.stderr.contains("inside an attempt"), "{}", refused.stderr);
}

#[test]
fn file_02_logs_are_whole_private_and_out_of_git() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::with_git();
    project.agent(&format!("printf 'raw \\001 bytes \\377\\n'; echo oops >&2; touch made; {DONE}"));
    project.add(&["A", "--key", "a"]);
    project.ok(&["run"]);
    let log = project.path(project.history()[0]["log_path"].as_str().unwrap());
    let bytes = fs::read(&log).unwrap();
    assert!(bytes.starts_with(b"raw \x01 bytes \xff\n<"), "{bytes:?}");
    assert_eq!(fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_to_string(log.with_extension("stderr.log")).unwrap(), "oops\n");
    let seen = project.git(&["status", "--porcelain", "--untracked-files=all"]);
    assert!(
        seen.contains(".ralph/.gitignore") && !seen.contains("logs") && !seen.contains("progress.db"),
        "{seen}"
    );
    assert_eq!(project.ok(&["logs", "a", "--path"]).text(), log.display().to_string());
}

#[test]
fn templates_of_the_project_win() {
    let project = project(DONE);
    project.write(".ralph/templates/task.md", "Do {{ title }} now.\n{{ memory }}");
    project.add(&["A", "--key", "a"]);
    let prompt = project.ok(&["context", "a"]).stdout;
    assert!(prompt.ends_with("Do A now.\n"), "{prompt}");
    project.write(".ralph/templates/task.md", "fine\n{{ titel }}");
    let broken = project.ralph(&["run"]).expect_code(2);
    assert!(broken.stderr.contains("templates/task.md, line 2"), "{}", broken.stderr);
    // Nothing stays claimed.
    assert_eq!(project.status_of("a"), "pending");
}

#[test]
fn exit_03_a_promise_of_failure_aborts_whatever_the_exit_code() {
    let project = project("echo '<promise>FAILURE</promise>'; exit 1");
    project.add(&["A"]);
    project.ralph(&["run"]).expect_code(7);
    assert_eq!(outcomes(&project), [("failed".to_owned(), Value::Null)]);
}

#[test]
fn naming_a_blocked_task_changes_nothing_when_the_run_is_refused() {
    let project = project("echo nothing");
    project.add(&["Base", "--key", "base"]);
    project.add(&["T", "--key", "t"]);
    project.ralph(&["run", "t", "--max-attempts", "1"]).expect_code(5);
    project.ok(&["task", "deps", "add", "t", "base"]);
    project.ralph(&["run", "t"]).expect_code(5);
    assert_eq!(project.status_of("t"), "blocked");
}

#[test]
fn file_02_logs_stay_out_of_git_also_without_init() {
    let project = Project::empty();
    project.git(&["init", "-q"]);
    project.write(".ralph.toml", "[run]\n");
    project.agent(&format!("touch made; {DONE}"));
    project.add(&["A"]);
    project.ok(&["run"]);
    let seen = project.git(&["status", "--porcelain", "--untracked-files=all"]);
    assert!(!seen.contains("logs/") && !seen.contains("progress.db"), "{seen}");
}

#[test]
fn an_attempt_that_cannot_be_logged_is_not_made() {
    let project = project(DONE);
    project.add(&["A", "--key", "a"]);
    std::fs::remove_dir_all(project.path(".ralph/logs")).unwrap();
    project.write(".ralph/logs", "in the way");
    for _ in 0..4 {
        let output = project.ralph(&["run"]).expect_code(1);
        assert!(output.stderr.contains(".ralph/logs"), "{}", output.stderr);
    }
    assert!(project.history().is_empty());
    assert_eq!(project.status_of("a"), "pending");
}

#[test]
fn ctx_06_context_prints_the_prompt_of_a_retry_with_the_runs_own_limit() {
    let project = project("echo nothing");
    project.add(&["A", "--key", "a"]);
    for _ in 0..2 {
        let expected = project.ok(&["context", "a", "--once"]).stdout;
        project.ralph(&["run", "--once"]).expect_code(4);
        assert_eq!(project.read(".ralph/last-prompt"), expected);
    }
}

#[test]
fn out_04_a_command_that_says_done_and_exits_with_an_error_is_not_done_whatever_it_prints() {
    let done = "<task-done>'$RALPH_TASK_ID'</task-done>";
    for (output, line) in [
        ("claude", format!(r#"{{"type":"result","subtype":"success","is_error":false,"result":"{done}"}}"#)),
        (
            "gemini",
            format!(
                r#"{{"type":"message","role":"assistant","content":"{done}"}}'; echo '{{"type":"result","status":"success"}}"#
            ),
        ),
    ] {
        for (code, outcome) in [(0, "done"), (3, "error")] {
            let project = Project::new();
            project.write("agent.sh", &format!("echo '{line}'; exit {code}"));
            project.configure(&format!(
                "[agents.x]\nkind = \"command\"\noutput = \"{output}\"\ncommand = [\"sh\", \"agent.sh\"]"
            ));
            project.set("run", "agent = \"x\"");
            project.add(&["A", "--verify", "true"]);
            let run = project.ralph(&["run", "--once"]);
            assert!(!project.history().is_empty(), "{}", run.stderr);
            let attempt = &project.history()[0];
            assert_eq!(
                (&attempt["outcome"], &attempt["gate"]),
                (&json!(outcome), &json!("passed")),
                "{output} {code}"
            );
            let message = attempt["message"].as_str().unwrap_or_default();
            assert_eq!(message.ends_with("; the gate passed"), code == 3, "{attempt}");
        }
    }
}
