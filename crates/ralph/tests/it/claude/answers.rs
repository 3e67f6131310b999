//! What the model reads, and what its answers come to.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::model_server::Reply;
use crate::stage::{Stage, assigned, bash, done, text_of, user_text};
use crate::support::Project;

#[test]
fn out_01_a_text_with_the_done_signal_is_done_and_recorded() {
    let stage = Stage::new(done);
    stage.run(0);
    assert_eq!(stage.tries(), ["done counted #1"]);
    stage.expect_status(1, 0, 1);

    let attempt = stage.project.history().remove(0);
    assert_eq!(attempt["task_id"], json!(stage.task));
    assert_eq!(attempt["model"], "sonnet");
    assert!(attempt["cost_usd"].as_f64().unwrap() > 0.0, "{attempt}");
    assert_eq!(attempt["tokens_input"], 1000);
    assert_eq!(attempt["tokens_output"], 7);
    assert_eq!(attempt["denials"], json!([]));
    let session = attempt["session_id"].as_str().unwrap();
    assert_eq!(session.len(), 36, "{session}");
    let full_name = stage.maybe_text("SELECT agent_model FROM iteration_outcomes");
    assert!(full_name.unwrap().starts_with("claude-sonnet-"));
}

#[test]
fn file_02_the_raw_stream_is_in_a_private_log() {
    let stage = Stage::new(done);
    stage.run(0);
    let attempt = stage.project.history().remove(0);
    let path = attempt["log_path"].as_str().unwrap();
    assert!(path.starts_with(".ralph/logs/"), "{path}");
    let mode = fs::metadata(stage.project.path(path)).unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
    let log = stage.project.read(path);
    let events: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = events.iter().flat_map(|e| e["type"].as_str()).collect();
    assert!(kinds.contains(&"system") && kinds.contains(&"assistant"), "{kinds:?}");
    let result = events.last().unwrap();
    assert_eq!(result["type"], "result");
    assert_eq!(result["session_id"], attempt["session_id"]);
    assert_eq!(result["total_cost_usd"], attempt["cost_usd"]);
}

#[test]
fn out_01_a_tool_does_the_work_and_the_gate_checks_it() {
    let project = Project::with_git();
    project.write("README", "A parser.\n");
    project.git(&["add", "."]);
    project.git(&["commit", "-q", "-m", "start"]);
    let file = project.path("parser.txt");
    let commit = "git add parser.txt && \
        git -c user.name=a -c user.email=a@localhost commit -q -m work";
    let stage = Stage::of(project, move |request| match request.ordinal {
        1 => Reply::tool("Write", json!({"file_path": file, "content": "it parses\n"})),
        2 => {
            assert!(request.after_tool);
            bash(commit)
        }
        _ => done(request),
    })
    .verify("grep -q 'it parses' parser.txt");
    stage.run(0);
    assert_eq!(stage.project.read("parser.txt"), "it parses\n");
    assert_eq!(stage.tries(), ["done counted #1"]);

    let attempt = stage.project.history().remove(0);
    let commits = stage.project.git(&["log", "--format=%H"]);
    let commits: Vec<&str> = commits.lines().collect();
    assert_eq!(attempt["commit_after"], commits[0]);
    assert_eq!(attempt["commit_before"], commits[1]);
    assert_eq!(attempt["files_changed"], json!(["parser.txt"]));
    assert_eq!(attempt["gate"], "passed");
    assert_eq!(attempt["tokens_input"], 3000);
}

#[test]
fn out_02_a_red_gate_beats_the_agents_word() {
    let stage = Stage::new(done).verify("echo 'error: no parser'; false");
    stage.run_once_in_vain();
    assert_eq!(stage.tries(), ["failed test_failure counted #1"]);
    stage.expect_status(0, 1, 1);
    let attempt = stage.project.history().remove(0);
    assert_eq!(attempt["gate"], "failed");
    let why = stage.maybe_text("SELECT why_it_failed FROM failure_reports");
    assert!(why.unwrap().contains("no parser"));
}

#[test]
fn out_09_prose_never_changes_the_class() {
    let prose = "Rate limit reached: 429 Too Many Requests, service overloaded (529), \
        401 authentication_error, connection refused.";
    let stage = Stage::new(move |_| Reply::text(prose));
    stage.run_once_in_vain();
    assert_eq!(stage.tries(), ["no_sigil counted #1"]);
    stage.expect_status(0, 1, 1);
}

#[test]
fn ctx_06_the_model_reads_the_rules_and_exactly_the_prompt_that_context_prints() {
    let stage = Stage::new(done);
    let context = ["context", &stage.task, "--json"];
    let context = stage.project.json(&context);
    let shown = |part: &str| context[part].as_str().unwrap().trim().to_owned();
    stage.run(0);

    let request = &stage.model.requests()[0];
    let user = user_text(request);
    let start = format!(
        "## Assigned Task\n\n**ID:** {}\n**Title:** Write the parser\n\n### Description\nIt parses.",
        stage.task
    );
    assert!(user.contains(&start), "{user}");
    assert!(user.contains(&shown("prompt")), "{user}");
    assert!(!user.contains("Previous Attempts"), "{user}");
    let system = text_of(&request["system"]);
    assert!(system.contains(&shown("system")), "{system}");
    // SIG-08
    for rule in ["<task-done>", "<failure-report>", "<learning", "<retry-suggestion>"] {
        assert!(system.contains(rule), "{rule}: {system}");
        assert!(!user.contains(rule), "{rule}: {user}");
    }
}

#[test]
fn att_02_att_08_a_retry_reads_the_report_and_the_suggestion_of_the_failure_before() {
    let stage = Stage::new(|request| match request.session {
        1 => Reply::text(format!(
            "<task-failed>{}</task-failed>\n\
             <failure-report>\n\
             what_tried: A hand-written lexer\n\
             why_failed: Tabs were taken for spaces\n\
             error_category: logic_error\n\
             relevant_files: src/lexer.rs\n\
             </failure-report>\n\
             <retry-suggestion>Split at tabs first</retry-suggestion>",
            assigned(request)
        )),
        _ => done(request),
    });
    stage.run(0);
    assert_eq!(stage.tries(), ["failed logic_error counted #1", "done counted #2"]);
    stage.expect_status(1, 0, 2);
    let history = stage.project.history();
    assert_ne!(history[0]["session_id"], history[1]["session_id"]);
    assert_ne!(history[0]["log_path"], history[1]["log_path"]);

    let requests = stage.model.requests();
    assert!(!user_text(&requests[0]).contains("### Previous Attempts"));
    let second = user_text(&requests[1]);
    for part in [
        "### Previous Attempts\n\nThis task has been attempted 1 time(s) before.",
        "#### Attempt 1 (sonnet, failed)",
        "- **Approach:** A hand-written lexer",
        "- **Why it failed:** Tabs were taken for spaces",
        "- **Error type:** logic_error",
        "- **Files involved:** src/lexer.rs",
        "**Suggested approach for this retry:**\nSplit at tabs first",
        "- **This task:** attempt #2, 1 consecutive failure(s)",
    ] {
        assert!(second.contains(part), "{part}\n---\n{second}");
    }
}

#[test]
fn claude_works_in_a_working_tree_of_ralphs_own() {
    let project = crate::jobs::project("true");
    let stage = Stage::of(project, move |request| match request.ordinal {
        1 => bash("echo 'it parses' > parser.txt"),
        _ => done(request),
    })
    .run_setting("isolate = true")
    .verify("grep -q 'it parses' parser.txt");
    stage.run(0);
    assert_eq!(stage.tries(), ["done counted #1"]);
    assert!(!stage.project.path("parser.txt").exists());
    let branch = crate::jobs::branch(&stage.project);
    assert_eq!(stage.project.git(&["show", &format!("{branch}:parser.txt")]), "it parses\n");
}
