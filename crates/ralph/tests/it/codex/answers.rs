//! What the model reads, and what its answers come to.

use serde_json::{Value, json};

use super::{CODEX, patch, shell, stage};
use crate::model_server::Reply;
use crate::stage::{Stage, done, user_text};
use crate::support::Project;

#[test]
fn out_01_codex_a_text_with_the_done_signal_is_done_and_recorded() {
    let stage = stage(done);
    stage.run(0);
    assert_eq!(stage.tries(), ["done counted #1"]);
    stage.expect_status(1, 0, 1);
    stage.expect_no_process();

    let attempt = stage.project.history().remove(0);
    assert_eq!(attempt["model"], "gpt-6.1-sol");
    assert_eq!(stage.model.requests()[0]["model"], "gpt-6.1-sol");
    // Codex does not know what it costs: Ralph estimates it. Of 1000 tokens 100 came from a cache.
    let cost = attempt["cost_usd"].as_f64().unwrap();
    assert!(cost > 0.0 && cost < 0.01, "{attempt}");
    assert_eq!(attempt["cost_estimated"], true);
    assert_eq!(attempt["tokens_input"], 900);
    assert_eq!(attempt["tokens_output"], 7);
    let session = attempt["session_id"].as_str().unwrap();
    assert_eq!(session.len(), 36, "{session}");

    let log = stage.project.read(attempt["log_path"].as_str().unwrap());
    let first: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    assert_eq!(first, json!({"type": "thread.started", "thread_id": session}));
}

#[test]
fn codex_costs_what_its_tokens_cost_by_the_settings() {
    let price = "price = { \"gpt-6.1-sol\" = { input = 2, output = 10, cache_read = 0.5 } }";
    let stage = stage(done).agent_setting(price);
    stage.run(0);
    let cost = stage.project.history()[0]["cost_usd"].as_f64().unwrap();
    let expected = (900.0 * 2.0 + 100.0 * 0.5 + 7.0 * 10.0) / 1e6;
    assert!((cost - expected).abs() < 1e-12, "{cost}");
}

#[test]
fn out_01_codex_tools_do_the_work_and_the_gate_checks_it() {
    let project = Project::with_git();
    project.write("README", "A parser.\n");
    project.git(&["add", "."]);
    project.git(&["commit", "-q", "-m", "start"]);
    let commit = "git add parser.txt && \
        git -c user.name=a -c user.email=a@localhost commit -q -m work";
    let stage = Stage::with(&CODEX, project, move |request| match request.ordinal {
        1 => patch(&["*** Add File: parser.txt", "+it parses"]),
        2 => {
            assert!(request.after_tool);
            shell(commit)
        }
        _ => done(request),
    })
    .verify("grep -q 'it parses' parser.txt");
    stage.run(0);
    assert_eq!(stage.tries(), ["done counted #1"]);
    stage.expect_no_process();

    let attempt = stage.project.history().remove(0);
    let head = stage.project.git(&["rev-parse", "HEAD"]);
    assert_eq!(attempt["commit_after"], head.trim());
    assert_eq!(attempt["files_changed"], json!(["parser.txt"]));
    assert_eq!(attempt["gate"], "passed");
    assert_eq!(attempt["tokens_input"], 2700);
}

#[test]
fn ext_05_codex_what_was_tried_is_told_by_its_actions() {
    let stage = stage(|request| match request.ordinal {
        1 => patch(&["*** Add File: parser.txt", "+it does not parse"]),
        2 => shell("cat parser.txt"),
        _ => done(request),
    })
    .verify("false");
    stage.run_once_in_vain();
    let tried = stage.maybe_text("SELECT what_was_tried FROM failure_reports");
    assert_eq!(tried.as_deref(), Some("Edited parser.txt. Ran `cat parser.txt`."));
}

#[test]
fn out_02_codex_a_red_gate_beats_the_agents_word() {
    let stage = stage(done).verify("echo 'error: no parser'; false");
    stage.run_once_in_vain();
    assert_eq!(stage.tries(), ["failed test_failure counted #1"]);
}

#[test]
fn out_09_codex_prose_never_changes_the_class() {
    let prose = "exceeded retry limit, last status: 429 Too Many Requests\n\
        unexpected status 401 Unauthorized: wrong key";
    let stage = stage(move |_| Reply::text(prose));
    stage.run_once_in_vain();
    assert_eq!(stage.tries(), ["no_sigil counted #1"]);
}

#[test]
fn ctx_06_codex_the_model_reads_the_rules_and_the_prompt_that_context_prints() {
    let stage = stage(done);
    let context = ["context", &stage.task, "--json"];
    let context = stage.project.json(&context);
    stage.run(0);
    let user = user_text(&stage.model.requests()[0]);
    let shown = context["prompt"].as_str().unwrap().trim();
    assert!(user.contains(shown), "{user}");
    for rule in ["<task-done>", "<failure-report>", "<learning", "<retry-suggestion>"] {
        assert!(user.contains(rule), "{rule}: {user}");
    }
}

#[test]
fn codex_works_in_a_sandbox_unless_it_is_trusted() {
    let of = |line: &str| {
        let stage = stage(done).agent_setting(line);
        stage.run(0);
        let told = &stage.model.requests()[0]["client_metadata"]["x-codex-turn-metadata"];
        let told: Value = serde_json::from_str(told.as_str().unwrap()).unwrap();
        told["sandbox_mode"].clone()
    };
    assert_eq!(of("skip_permissions = false"), "workspace-write");
    assert_eq!(of("skip_permissions = true"), "danger-full-access");
}

#[test]
fn codex_without_models_chooses_its_own() {
    let stage = stage(done).agent_setting("models = []");
    stage.run(0);
    assert_eq!(stage.tries(), ["done counted #1"]);
    assert_eq!(stage.project.history()[0]["model"], "codex");
    let asked = &stage.model.requests()[0]["model"];
    assert!(asked.as_str().unwrap().starts_with("gpt-"), "{asked}");
}

#[test]
fn codex_works_in_a_working_tree_of_ralphs_own() {
    let project = crate::jobs::project("true");
    let stage = Stage::with(&CODEX, project, move |request| match request.ordinal {
        1 => patch(&["*** Add File: parser.txt", "+it parses"]),
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
