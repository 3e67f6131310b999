//! The real OpenCode under the real Ralph: only the model behind it is scripted.
//!
//! `RALPH_TEST_OPENCODE` names the `opencode` program, else the one `scripts/test` installs in `.tools/` is used. It
//! takes seconds to start, so that one run meets several situations. It tries an unavailable service five times again,
//! first after two seconds, then after ever more; a header of the service's makes that quick.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::model_server::{Reply, Request};
use crate::stage::{Player, Stage, done, end_by};
use crate::support::{Project, eventually};

/// OpenCode, with a provider of its own whose model is the scripted one.
pub const OPENCODE: Player = Player {
    agent: "opencode",
    program: ("RALPH_TEST_OPENCODE", "opencode"),
    env: |url| {
        vec![
            (CONFIG, config(url, json!({"input": 2, "output": 10}))),
            ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
        ]
    },
    settings: |_| String::new(),
};

/// The variable that holds OpenCode's settings.
const CONFIG: &str = "OPENCODE_CONFIG_CONTENT";
/// What one request costs by those settings.
const COST: f64 = 0.002_07;

/// OpenCode's settings: the one model it knows, and what a million of its tokens cost.
fn config(url: &str, cost: Value) -> String {
    json!({
        "model": "scripted/small",
        "provider": {"scripted": {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": format!("{url}/v1"), "apiKey": "test"},
            "models": {"small": {"cost": cost, "limit": {"context": 200_000, "output": 8000}}},
        }},
        "permission": {"bash": "ask"},
    })
    .to_string()
}

/// A stage whose program finds everything in place, so that it downloads nothing.
fn stage(script: impl FnMut(&Request) -> Reply + Send + 'static) -> Stage {
    let project = Project::new();
    furnish(&project);
    Stage::with(&OPENCODE, project, script)
}

pub fn furnish(project: &Project) {
    let settings = project.path("../home/.config/opencode");
    fs::create_dir_all(settings.join("node_modules")).unwrap();
    let installed = json!({"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}});
    let lock = settings.join("package-lock.json");
    fs::write(lock, installed.to_string()).unwrap();
}

/// An error that OpenCode tries again at once.
fn error(status: u16) -> Reply {
    error_with(status, "retry-after-ms", "0")
}

fn error_with(status: u16, header: &str, value: &str) -> Reply {
    Reply::Error { status, headers: vec![(header.to_owned(), value.to_owned())] }
}

pub fn bash(command: &str) -> Reply {
    Reply::tool("bash", json!({"command": command, "description": "Work"}))
}

fn unix_seconds() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    (now + Duration::from_millis(999)).as_secs()
}

/// Where the agent works, as it tells the model.
fn working_directory(request: &Request) -> String {
    let messages = request.body["messages"].as_array().unwrap();
    let texts = messages.iter().filter_map(|one| one["content"].as_str());
    let mut told = texts.filter_map(|text| text.split_once("Working directory: "));
    let (_, rest) = told.next().unwrap();
    rest.lines().next().unwrap().to_owned()
}

#[track_caller]
fn expect_cost(attempt: &Value, expected: f64) {
    let cost = attempt["cost_usd"].as_f64().unwrap();
    assert!((cost - expected).abs() < 1e-9, "{attempt}");
}

#[test]
fn out_05_06_opencode_waits_out_limits_and_overload_then_does_the_work() {
    let reset = Arc::new(AtomicU64::new(0));
    let told = Arc::clone(&reset);
    let mut asked = 0;
    let mut stage = stage(move |request| {
        asked = if request.session == 1 { asked + 1 } else { 0 };
        match request.session {
            // The last of OpenCode's own tries.
            1 if asked == 6 => {
                told.store(unix_seconds() + 2, Ordering::SeqCst);
                error_with(429, "retry-after", "2")
            }
            1 | 3 => error(429),
            2 => error(500),
            4 => error(529),
            _ if request.after_tool => done(request),
            _ => {
                let file = format!("{}/parser.txt", working_directory(request));
                Reply::tool("write", json!({"filePath": file, "content": "it parses\n"}))
            }
        }
    })
    .verify("grep -q 'it parses' parser.txt");
    // Where Ralph was called is not where the agent works.
    let elsewhere = stage.project.path("../home");
    let elsewhere = elsewhere.to_str().unwrap();
    stage.project.set_env("PWD", elsewhere);
    let events = stage.project.ok(&["run", "--json"]).json_lines();
    let limited = "error rate_limit uncounted #1";
    let busy = "error overloaded uncounted #1";
    assert_eq!(stage.tries(), [limited, busy, limited, busy, "done counted #1"]);
    stage.expect_status(1, 0, 1);
    stage.expect_no_process();
    assert_eq!(stage.project.read("parser.txt"), "it parses\n");
    assert_eq!(stage.model.requests().len(), 6 + 6 + 6 + 6 + 2);

    let reset = i64::try_from(reset.load(Ordering::SeqCst)).unwrap();
    let second = "SELECT unixepoch(started_at) FROM iteration_outcomes WHERE attempt_number = 2";
    assert!(stage.number(second) >= reset);
    let waits: Vec<&Value> = events.iter().filter(|event| event["type"] == "waiting").collect();
    assert_eq!(waits.len(), 4, "{waits:?}");

    let history = stage.project.history();
    assert!(history[0]["cost_usd"].is_null(), "{}", history[0]);
    assert_eq!(history[0]["message"], "rate limited");
    let last = &history[4];
    expect_cost(last, 2.0 * COST);
    assert_eq!(last["model"], "opencode");
    assert_eq!(last["tokens_input"], 2000);
    assert_eq!(last["tokens_output"], 14);
    assert_eq!(last["gate"], "passed");
    assert!(last["session_id"].as_str().unwrap().starts_with("ses_"), "{last}");
}

#[test]
fn out_07_opencode_with_a_refused_key_stops_the_run() {
    let stage = stage(|_| error(401));
    let output = stage.run(1);
    assert!(output.stderr.contains("log in to opencode"), "{}", output.stderr);
    assert_eq!(stage.tries(), ["error auth uncounted #1"]);
    stage.expect_untouched_task();
    stage.expect_no_process();
    assert_eq!(stage.model.requests().len(), 1);
}

#[test]
fn out_07_opencode_with_an_unknown_model_stops_the_run() {
    let stage = stage(done).agent_setting("models = [\"scripted/nobody\"]");
    let output = stage.run(1);
    assert!(output.stderr.contains("check the model's name"), "{}", output.stderr);
    assert_eq!(stage.tries(), ["error config uncounted #1"]);
    stage.expect_untouched_task();
    assert!(stage.model.requests().is_empty());
}

#[test]
fn out_07_opencode_that_may_not_use_a_tool_stops_the_run() {
    let stage = stage(|_| bash("touch made-by-tool")).agent_setting("skip_permissions = false");
    let output = stage.run(1);
    assert!(output.stderr.contains("denied permission: bash"), "{}", output.stderr);
    assert_eq!(stage.tries(), ["error permission uncounted #1"]);
    stage.expect_untouched_task();
    let attempt = stage.project.history().remove(0);
    assert_eq!(attempt["denials"], json!(["bash"]));
    expect_cost(&attempt, COST);
    assert!(!stage.project.path("made-by-tool").exists());
}

#[test]
fn out_01_opencode_goes_on_after_a_cut_answer_and_costs_what_the_settings_say() {
    let stage = stage(|request| match request.ordinal {
        1 => Reply::CutMidStream,
        _ => {
            assert_eq!(request.body["model"], "small");
            done(request)
        }
    });
    let unpriced = config(&stage.model.url(), json!({"input": 0, "output": 0}));
    let stage = stage
        .env(CONFIG, &unpriced)
        .agent_setting("models = [\"scripted/small\"]")
        .agent_setting("price = { \"scripted/small\" = { input = 3, output = 15 } }");
    stage.run(0);
    assert_eq!(stage.tries(), ["done counted #1"]);
    assert_eq!(stage.model.requests().len(), 2);
    let attempt = stage.project.history().remove(0);
    assert_eq!(attempt["model"], "scripted/small");
    expect_cost(&attempt, 0.003_105);
}

#[test]
fn out_04_opencode_that_hangs_is_ended_and_counts() {
    let stage = stage(|request| match request.after_tool {
        false => bash("touch made-by-tool"),
        true => Reply::HangMidStream,
    })
    .run_setting("idle_timeout = 20");
    stage.run_once_in_vain();
    assert_eq!(stage.tries(), ["error idle_timeout counted #1"]);
    stage.expect_status(0, 1, 1);
    stage.expect_no_process();
    // On a busy machine it may not even have asked by then.
    if stage.model.requests().len() == 2 {
        let attempt = stage.project.history().remove(0);
        expect_cost(&attempt, COST);
        assert!(attempt["session_id"].is_string(), "{attempt}");
        assert!(stage.project.path("made-by-tool").exists());
    }
}

#[test]
fn exit_04_term_ends_opencode_and_its_tool() {
    let stage = stage(|_| bash("touch started; tail -f /dev/null"));
    let started = stage.project.path("started");
    let ralph = stage.project.start(&["run"]);
    eventually("the tool is at work", || started.exists());
    assert_eq!(end_by(ralph, Signal::TERM), Some(143));
    stage.expect_no_process();
    assert_eq!(stage.tries(), ["error interrupted uncounted #1"]);
    stage.expect_untouched_task();
}

#[test]
fn exit_02_the_cost_of_opencode_ends_a_run_at_its_limit() {
    // It would go on for ever; each step tells what it cost.
    let stage = stage(|_| bash("sleep 0.2")).run_setting("max_cost_usd = 0.002");
    let output = stage.run(4);
    assert!(output.stdout.contains("cost limit"), "{}", output.stdout);
    assert_eq!(stage.tries(), ["error interrupted uncounted #1"]);
    stage.expect_untouched_task();
    stage.expect_no_process();
    let cost = stage.project.history().remove(0)["cost_usd"].as_f64();
    assert!(cost.is_some_and(|cost| cost >= COST), "{cost:?}");
}
