//! Agents, their versions and their credentials.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

use expectrl::Expect;
use serde_json::json;

use super::{bare, finding, findings, program, report, text};
use crate::support::{PATIENCE, Project, processes_with};

#[test]
fn doctor_names_the_command_that_installs_the_agent() {
    let project = bare();
    let output = project.ralph(&["doctor", "--json"]).expect_code(1);
    let report = output.json();
    assert_eq!(report["ok"], json!(false));
    let agent = finding(&report, "agent");
    assert_eq!(agent["level"], "error");
    assert_eq!(agent["message"], "claude: `claude` is not installed or not on PATH");
    assert!(text(&agent["fix"]).starts_with("npm install"), "{agent}");
    let others = findings(&report, "agents");
    assert_eq!(others.len(), 1, "{others:?}");
    assert!(text(&others[0]["message"]).starts_with("not installed: codex"));
    let shown = project.ralph(&["doctor"]).expect_code(1).stdout;
    assert!(shown.contains("  ✗ agent        claude: `claude` is not installed"), "{shown}");
    assert!(shown.contains("                 → npm install"), "{shown}");
    assert!(shown.ends_with("1 problem would stop a run; 1 warning\n"), "{shown}");
}

#[test]
fn doctor_compares_versions_with_the_tested_ones() {
    let project = bare();
    program(&project, "claude", "echo '99.1.0 (Claude Code)'");
    program(&project, "codex", "echo codex-cli 99.0.0");
    let report = report(&project);
    assert_eq!(report["ok"], json!(true), "{report}");
    let agent = finding(&report, "agent");
    assert_eq!(agent["level"], "warning", "{agent}");
    let message = text(&agent["message"]);
    assert!(message.starts_with("claude: claude, 99.1.0 (Claude Code), "), "{message}");
    let tested = message.rsplit(' ').next().unwrap().to_owned();
    // Of others nobody is warned.
    let codex = finding(&report, "agents");
    assert_eq!(codex["level"], "ok");
    assert!(text(&codex["message"]).contains("99.0.0"), "{codex}");

    program(&project, "claude", &format!("echo '{tested} (Claude Code)'"));
    let agent = finding(&super::report(&project), "agent");
    assert_eq!(agent["level"], "ok", "{agent}");
    assert!(text(&agent["message"]).ends_with("the tested version"), "{agent}");
    let major = tested.split('.').next().unwrap();
    program(&project, "claude", &format!("echo {major}.999.9"));
    let agent = finding(&super::report(&project), "agent");
    assert_eq!(agent["level"], "ok", "{agent}");
    assert!(text(&agent["message"]).contains("newer than the tested"), "{agent}");
}

#[test]
fn doctor_does_not_wait_for_programs_that_hang_or_print_without_end() {
    let project = bare();
    program(&project, "claude", "trap '' TERM; sleep 673.25 & sleep 673.25");
    program(&project, "codex", "while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done");
    program(&project, "gemini", "sleep 673.25");
    program(&project, "opencode", "kill -9 $$");
    let started = Instant::now();
    let report = report(&project);
    assert!(started.elapsed() < PATIENCE);
    let agent = finding(&report, "agent");
    assert_eq!(agent["level"], "warning", "{agent}");
    assert!(text(&agent["message"]).contains("no answer within 5 s"), "{agent}");
    assert_eq!(agent["fix"], "claude --version");
    let others = findings(&report, "agents");
    assert_eq!(others.len(), 3, "{others:?}");
    assert!(others.iter().all(|other| other["level"] == "ok"));
    assert!(processes_with("673.25").is_empty(), "something was left running");
}

#[test]
fn doctor_shows_that_it_waits_and_can_be_interrupted() {
    let mut project = bare();
    project.set_env("TERM", "xterm");
    program(&project, "claude", "sleep 71.5");
    let mut session = project.in_terminal(&["doctor"], 100);
    session.expect("checking programs").unwrap();
    session.send("\u{3}").unwrap();
    let status = session.get_process().wait().unwrap();
    assert!(format!("{status:?}").contains("130"), "{status:?}");
    crate::support::eventually("the program is ended", || processes_with("71.5").is_empty());
}

#[test]
fn doctor_shows_what_ralph_adds_and_no_secret() {
    let mut project = bare();
    program(&project, "claude", "echo 2.1.0 $ANTHROPIC_API_KEY");
    project.configure(
        "[agents.claude]\nargs = [\"--auth-token\", \"hunter2-in-args\"]\n\
         env = { OTHER_API_KEY = \"hunter2-in-file\", MODE = \"calm\" }",
    );
    project.set_env("ANTHROPIC_API_KEY", "sk-ant-hunter2aaaaaaaaa1");
    let report = report(&project);
    let launch = finding(&report, "launch");
    assert_eq!(launch["level"], "ok");
    let detail: Vec<&str> = launch["detail"].as_array().unwrap().iter().map(text).collect();
    assert!(detail[0].starts_with("claude -p --output-format stream-json"), "{detail:?}");
    assert!(detail[0].ends_with("--auth-token [masked]"), "{detail:?}");
    assert!(detail.contains(&"OTHER_API_KEY=[masked]") && detail.contains(&"MODE=calm"), "{detail:?}");
    let credentials = finding(&report, "credentials");
    assert_eq!(credentials["level"], "ok");
    assert_eq!(credentials["message"], "claude: ANTHROPIC_API_KEY");
    let shown = project.ralph(&["doctor"]).stdout;
    for output in [report.to_string(), shown] {
        assert!(!output.contains("hunter2"), "{output}");
    }
}

#[test]
fn doctor_looks_for_credentials_in_variables_settings_and_files() {
    let mut project = bare();
    program(&project, "claude", "echo 2.1.0");
    let credentials = |project: &Project| finding(&report(project), "credentials");
    let none = credentials(&project);
    assert_eq!(none["level"], "warning", "{none}");
    assert!(text(&none["fix"]).contains("log in"), "{none}");
    project.write("../home/.claude/.credentials.json", "{\"secret\": \"hunter2\"}");
    assert_eq!(credentials(&project)["message"], "claude: ~/.claude/.credentials.json");
    project.set_env("ANTHROPIC_AUTH_TOKEN", "hunter2");
    assert_eq!(credentials(&project)["message"], "claude: ANTHROPIC_AUTH_TOKEN, ~/.claude/.credentials.json");
    // What the settings say of a variable stands.
    project
        .configure("[agents.claude]\nenv = { ANTHROPIC_AUTH_TOKEN = \"\", ANTHROPIC_API_KEY = \"hunter2\" }");
    assert_eq!(credentials(&project)["message"], "claude: ANTHROPIC_API_KEY, ~/.claude/.credentials.json");
}

#[test]
fn doctor_checks_a_command_without_starting_it() {
    let project = bare();
    program(&project, "mine", "touch started");
    project.configure("[agents.mine]\nkind = \"command\"\ncommand = [\"mine\"]");
    project.set("run", "agent = \"mine\"");
    let report = report(&project);
    assert_eq!(report["ok"], json!(true), "{report}");
    assert_eq!(finding(&report, "agent")["message"], "mine: mine");
    assert!(findings(&report, "credentials").is_empty());
    assert!(!project.path("started").exists());
}

#[test]
fn doctor_looks_at_those_who_stand_in() {
    let project = bare();
    program(&project, "claude", "echo 2.1.325");
    project.set("run", "fallback = [\"codex\", \"gemini\"]");
    program(&project, "gemini", "echo 0.61.0");
    let report = project.ralph(&["doctor", "--json"]).json();
    let agents = findings(&report, "agent");
    let levels: Vec<&str> = agents.iter().map(|one| text(&one["level"])).collect();
    assert_eq!(levels, ["ok", "warning", "ok"], "{agents:?}");
    assert_eq!(agents[1]["message"], "codex: `codex` is not installed or not on PATH (fallback)");
    let seen = findings(&report, "credentials");
    let gemini = seen.iter().find(|one| text(&one["message"]).starts_with("gemini"));
    assert_eq!(gemini.unwrap()["level"], "warning", "{seen:?}");

    // Another stands in for one that is not there.
    fs::remove_file(project.path("../bin/claude")).unwrap();
    let report = project.ralph(&["doctor", "--json"]).json();
    let agent = finding(&report, "agent");
    assert_eq!(agent["level"], "warning", "{agent}");
    assert!(text(&agent["message"]).ends_with("(a fallback agent is used instead)"), "{agent}");

    let toml = project.read(".ralph.toml");
    project.write(".ralph.toml", &toml.replace("\"codex\"", "\"codx\""));
    let report = project.ralph(&["doctor", "--json"]).expect_code(1).json();
    let agents = findings(&report, "agent");
    assert_eq!(agents[1]["level"], "error", "{agents:?}");
    assert!(text(&agents[1]["message"]).contains("codx"), "{agents:?}");
}

#[test]
fn doctor_tells_a_program_that_is_not_executable_from_one_that_is_not_there() {
    let project = bare();
    program(&project, "claude", "echo 2.1.325");
    let path = project.path("../bin/claude");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let report = project.ralph(&["doctor", "--json"]).expect_code(1).json();
    let agent = finding(&report, "agent");
    assert!(text(&agent["message"]).starts_with("claude: `claude` is not executable: /"), "{agent}");
    let fix = text(&agent["fix"]).strip_prefix("chmod +x ").unwrap();
    fs::set_permissions(fix, fs::Permissions::from_mode(0o755)).unwrap();
    project.ok(&["doctor"]);
}

#[test]
fn doctor_shows_the_model_of_the_next_attempt() {
    let project = bare();
    program(&project, "claude", "echo 2.1.325");
    let shown = |project: &Project| {
        let launch = finding(&report(project), "launch");
        let words: Vec<String> = text(&launch["detail"][0]).split(' ').map(str::to_owned).collect();
        let at = words.iter().position(|word| word == "--model").unwrap();
        words[at + 1].clone()
    };
    let next = |project: &Project, task: &str| {
        let context = project.json(&["context", task, "--json"]);
        text(&context["model"]).to_owned()
    };
    let without_tasks = shown(&project);
    project.add(&["A", "--key", "a"]);
    assert_eq!(shown(&project), next(&project, "a"));
    assert_eq!(shown(&project), without_tasks);
    for strategy in ["fixed", "escalate", "plan-then-execute", "adaptive"] {
        let toml = project.read(".ralph.toml");
        project.set("run", &format!("strategy = \"{strategy}\""));
        assert_eq!(shown(&project), next(&project, "a"), "{strategy}");
        project.write(".ralph.toml", &toml);
    }
    project.add(&["B", "--key", "b", "--model", "haiku", "--priority", "1"]);
    let ready = project.json(&["run", "--dry-run", "--json"]);
    assert_eq!(shown(&project), text(&ready[0]["model"]));
}
