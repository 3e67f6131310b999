//! The real Gemini CLI under the real Ralph: only the model behind it is scripted.
//!
//! `RALPH_TEST_GEMINI` names the `gemini` program, else the one `scripts/test` installs in `.tools/` is used. It takes
//! seconds to start, so that a test goes through several situations, one per session.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::model_server::{Reply, Request};
use crate::stage::{Player, Stage, end_by};
use crate::support::Project;

/// Gemini CLI.
pub const GEMINI: Player = Player {
    agent: "gemini",
    program: ("RALPH_TEST_GEMINI", "gemini"),
    env: |url| vec![("GEMINI_API_KEY", "test".to_owned()), ("GOOGLE_GEMINI_BASE_URL", url.to_owned())],
    settings: |_| String::new(),
};

/// A base URL alone would mean another way to log in. The program tries again up to ten times unless it is told not to.
pub const OWN_SETTINGS: &str = r#"{"security": {"auth": {"selectedType": "gemini-api-key"}},
    "general": {"maxAttempts": 1, "enableAutoUpdate": false}, "privacy": {"usageStatisticsEnabled": false}}"#;

fn stage(script: impl FnMut(&Request) -> Reply + Send + 'static) -> Stage {
    let project = Project::new();
    project.write("../home/.gemini/settings.json", OWN_SETTINGS);
    // It leaves reports of errors there.
    project.write("../tmp/reports", "");
    let temporary = project.path("../tmp").display().to_string();
    Stage::with(&GEMINI, project, script).env("TMPDIR", &temporary)
}

/// What the user's turns of a request say.
fn user_text(body: &Value) -> String {
    let turns = body["contents"].as_array().unwrap().iter();
    let parts =
        turns.filter(|turn| turn["role"] == "user").flat_map(|turn| turn["parts"].as_array().unwrap());
    let texts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
    texts.join("\n")
}

/// The model says that the assigned task is done.
pub fn done(request: &Request) -> Reply {
    let text = user_text(&request.body);
    let (_, rest) = text.split_once("## Assigned Task\n\n**ID:** ").unwrap();
    let id = rest.lines().next().unwrap();
    Reply::text(format!("The parser works.\n\n<task-done>{id}</task-done>"))
}

pub fn shell(command: &str) -> Reply {
    let input = json!({"command": command, "description": "Work"});
    Reply::tool("run_shell_command", input)
}

fn wait(seconds: u32) -> Reply {
    Reply::Error { status: 429, headers: vec![("retry-after".into(), seconds.to_string())] }
}

#[test]
fn out_05_out_06_limits_and_troubles_are_waited_out_and_the_work_is_checked() {
    let stage = stage(|request| match (request.session, request.after_tool) {
        (1, _) => Reply::error(429),
        (2, _) => Reply::error(529),
        (3, _) => wait(4),
        (4, _) => Reply::CutMidStream,
        (5, _) => Reply::error(400),
        (6, _) => Reply::error(500),
        (_, false) => Reply::tool("write_file", json!({"file_path": "parser.txt", "content": "it parses\n"})),
        (_, true) => done(request),
    })
    .agent_setting("price = { flash = { input = 1, output = 10, cache_read = 0.5 } }")
    .verify("grep -q 'it parses' parser.txt");
    stage.run(0);
    assert_eq!(
        stage.tries(),
        [
            "error rate_limit uncounted #1",
            "error overloaded uncounted #1",
            "error rate_limit uncounted #1",
            "error network uncounted #1",
            "error crash counted #1",
            "error overloaded uncounted #2",
            "done counted #2",
        ]
    );
    stage.expect_status(1, 0, 2);
    stage.expect_no_process();

    // The limit that told when it ends was waited out until then.
    let until = stage.number("SELECT unixepoch(until) FROM agent_limits WHERE agent = 'gemini'");
    let time = |sql: &str, number: u32| {
        stage.number(&format!("SELECT {sql} FROM iteration_outcomes WHERE attempt_number = {number}"))
    };
    let ended = time("unixepoch(started_at) + duration_ms / 1000", 3);
    assert!(until >= ended + 2, "{until} {ended}");
    assert!(time("unixepoch(started_at)", 4) >= until);

    let history = stage.project.history();
    for attempt in &history {
        assert_eq!(attempt["session_id"].as_str().map(str::len), Some(36), "{attempt}");
        assert_eq!(attempt["model"], "flash", "{attempt}");
    }
    for refused in &history[..3] {
        assert!(refused["cost_usd"].is_null(), "{refused}");
    }
    let finished = &history[6];
    assert_eq!(finished["gate"], "passed");
    assert_eq!(finished["tokens_input"], 1800);
    // With what the model thought.
    assert_eq!(finished["tokens_output"], 20);
    let cost = finished["cost_usd"].as_f64().unwrap();
    let expected = (1800.0 + 20.0 * 10.0 + 200.0 * 0.5) / 1e6;
    assert!((cost - expected).abs() < 1e-12, "{cost}");
    let full_name = "SELECT agent_model FROM iteration_outcomes WHERE attempt_number = 7";
    assert_eq!(stage.maybe_text(full_name).as_deref(), Some("gemini-scripted"));
}

#[test]
fn out_07_bad_keys_and_unknown_models_stop_the_run() {
    let stage = stage(|request| match request.session {
        1 => Reply::error(401),
        _ => Reply::error(404),
    });
    let refused = stage.run(1);
    assert!(refused.stderr.contains("log in to gemini"), "{}", refused.stderr);
    let unknown = stage.run(1);
    assert!(unknown.stderr.contains("check the model's name"), "{}", unknown.stderr);
    let stage = stage.without_env("GEMINI_API_KEY");
    let keyless = stage.run(1);
    assert!(keyless.stderr.contains("log in to gemini"), "{}", keyless.stderr);
    let auth = "error auth uncounted #1";
    assert_eq!(stage.tries(), [auth, "error config uncounted #1", auth]);
    stage.expect_untouched_task();
    assert_eq!(stage.model.requests().len(), 2);
    for attempt in stage.project.history() {
        assert!(attempt["cost_usd"].is_null(), "{attempt}");
    }
}

#[test]
fn out_07_what_the_program_may_not_do_stops_the_run() {
    let stage = stage(|request| match request.after_tool {
        false => shell("touch made-by-tool"),
        true => Reply::text("I was not allowed to."),
    })
    .agent_setting("skip_permissions = false");
    let distrusted = stage.run(1);
    let message = "gemini does not trust this directory";
    assert!(distrusted.stderr.contains(message), "{}", distrusted.stderr);
    let stage = stage.env("GEMINI_CLI_TRUST_WORKSPACE", "true");
    let denied = stage.run(1);
    let message = "denied permission: run_shell_command";
    assert!(denied.stderr.contains(message), "{}", denied.stderr);
    let permission = "error permission uncounted #1";
    assert_eq!(stage.tries(), [permission, permission]);
    stage.expect_untouched_task();
    let attempt = stage.project.history().remove(1);
    assert_eq!(attempt["denials"], json!(["run_shell_command"]));
    assert!(!stage.project.path("made-by-tool").exists());
}

#[test]
fn ctx_06_the_model_reads_exactly_the_prompt_that_context_prints() {
    let stage = stage(done);
    // The program would put a file in place of a name with an at sign.
    stage.project.write("src/MyTests.java", "class Unwanted {}\n");
    let long = format!("Mark it @Test, tell a@b.c.\n{}", "It parses äöü.\n".repeat(20_000));
    let edit = "UPDATE tasks SET description = ?1";
    stage.project.database().execute(edit, [&long]).unwrap();
    let context = ["context", &stage.task, "--json"];
    let context = stage.project.json(&context);
    let prompt = context["prompt"].as_str().unwrap().trim();
    assert!(prompt.len() > 300_000 && prompt.contains("Mark it \\@Test, tell a\\@b.c."));
    assert!(context["system"].is_null());
    stage.run(0);
    assert_eq!(stage.tries(), ["done counted #1"]);
    let requests = stage.model.requests();
    let read = user_text(&requests[0]);
    assert!(read.contains(prompt));
    assert!(!read.contains("Unwanted"));
    let attempt = stage.project.history().remove(0);
    assert_eq!(attempt["cost_estimated"], true, "{attempt}");
    assert_eq!(attempt["tokens_input"], 900, "{attempt}");
}

#[test]
fn out_04_a_hang_in_the_middle_of_an_answer_is_an_idle_timeout() {
    // Longer than the program is silent while it starts.
    let stage = stage(|_| Reply::HangMidStream).run_setting("idle_timeout = 20");
    stage.run_once_in_vain();
    assert_eq!(stage.tries(), ["error idle_timeout counted #1"]);
    stage.expect_status(0, 1, 1);
    stage.expect_no_process();
    assert_eq!(stage.model.requests().len(), 1);
    let attempt = stage.project.history().remove(0);
    assert!(attempt["cost_usd"].is_null(), "{attempt}");
    assert!(attempt["session_id"].is_string(), "{attempt}");
}

#[test]
fn exit_04_term_ends_a_tool_at_work_too() {
    let stage = stage(|_| shell("touch started; tail -f /dev/null"));
    let started = stage.project.path("started");
    let ralph = stage.start_until("the tool is at work", || started.exists());
    assert_eq!(end_by(ralph, Signal::TERM), Some(143));
    stage.expect_no_process();
    assert_eq!(stage.tries(), ["error interrupted uncounted #1"]);
    stage.expect_untouched_task();
}
