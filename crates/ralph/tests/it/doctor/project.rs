//! The project: settings, AGENTS.md, the plan.

use serde_json::json;

use super::{bare, files, finding, findings, report, text};
use crate::support::Project;

#[test]
fn doctor_names_gates_whose_program_is_missing() {
    let project = Project::with_git();
    project.agent("echo nothing");
    for n in 1..=7 {
        project.add(&["A", "--key", &format!("k{n}"), "--verify", "npm9 test | tail"]);
    }
    project.add(&["Done", "--key", "done", "--verify", "gone9"]);
    project.ok(&["task", "done", "done"]);
    project.add(&["Write it", "--key", "w", "--verify", "./unwritten.sh"]);
    let gates = findings(&report(&project), "gates");
    assert_eq!(gates.len(), 1, "{gates:?}");
    let message =
        "the gates of k1, k2, k3, k4, k5 and 2 more cannot run: `npm9` is not installed or not on PATH";
    assert_eq!((text(&gates[0]["level"]), text(&gates[0]["message"])), ("warning", message));
    assert!(text(&gates[0]["fix"]).starts_with("install npm9, or change the gate"));
}

#[test]
fn doctor_names_tasks_without_the_gate_that_is_required() {
    let project = Project::with_git();
    project.agent("echo nothing");
    project.configure("[gate]\nrequire = true");
    project.add(&["A", "--key", "a"]);
    project.add(&["B", "--key", "b", "--verify", "true"]);
    let output = project.ralph(&["doctor", "--json"]).expect_code(1);
    let gates = finding(&output.json(), "gates");
    let told = (text(&gates["level"]), text(&gates["message"]));
    assert_eq!(told, ("error", "gates are required, but these tasks have none: a"));
    project.ralph(&["run"]).expect_code(2);
    project.ok(&["config", "set", "gate.verify", "true"]);
    project.ok(&["doctor"]);
}

#[test]
fn doctor_names_what_would_stop_a_run_and_how_to_fix_it() {
    let project = Project::new();
    project.agent("true");
    let report = project.json(&["doctor", "--json"]);
    assert_eq!(report["ok"], json!(true), "{report}");
    assert_eq!(finding(&report, "database")["level"], "ok");
    assert_eq!(finding(&report, "plan")["level"], "warning");
    let toml = project.read(".ralph.toml");
    project.write(".ralph.toml", &toml.replace("[\"sh\", \"agent.sh\"]", "[\"/nowhere/agent\"]"));
    let output = project.ralph(&["doctor", "--json"]).expect_code(1);
    let agent = finding(&output.json(), "agent");
    assert_eq!(agent["level"], "error");
    assert!(text(&agent["message"]).contains("/nowhere/agent"), "{agent}");
    let text = project.ralph(&["doctor"]).expect_code(1).stdout;
    assert!(text.contains("install it, or change `command`"), "{text}");
    let outside = Project::empty();
    outside.ralph(&["doctor"]).expect_code(1);
}

#[test]
fn doctor_outside_a_project_still_looks_at_the_machine() {
    let outside = Project::empty();
    let output = outside.ralph(&["doctor", "--json"]).expect_code(1);
    let report = output.json();
    assert_eq!(finding(&report, "git")["level"], "ok");
    assert_eq!(finding(&report, "disk")["check"], "disk");
    assert!(!findings(&report, "agent").is_empty());
    let project = finding(&report, "project");
    assert_eq!((&project["level"], &project["fix"]), (&json!("error"), &json!("ralph init")));
    assert!(findings(&report, "database").is_empty());
    assert_eq!(outside.root().read_dir().unwrap().count(), 0, "something was made");
}

#[test]
fn doctor_changes_nothing() {
    let project = Project::with_git();
    project.agent("echo nothing");
    project.add(&["A"]);
    project.ralph(&["run", "--once"]).expect_code(4);
    let before = files(&project.path(".ralph"));
    let report = project.json(&["doctor", "--json"]);
    assert_eq!(report["ok"], json!(true), "{report}");
    assert_eq!(files(&project.path(".ralph")), before);
    // A project that is nothing but settings stays that.
    let new = Project::empty();
    new.write(".ralph.toml", "");
    new.agent("true");
    let report = super::report(&new);
    assert_eq!(finding(&report, "plan")["level"], "warning", "{report}");
    assert!(!new.path(".ralph").exists());
}

#[test]
fn doctor_reads_the_settings_as_a_run_would() {
    let mut project = Project::new();
    project.agent("true");
    project.set("git", "commit = \"on-success\"");
    project.set_env("RALPH_SET_RUN_MAX_ATTEMPTS", "3");
    let report = super::report(&project);
    let settings = findings(&report, "settings");
    assert_eq!(settings[0]["level"], "ok", "{settings:?}");
    assert_eq!(settings[0]["detail"], json!(["RALPH_SET_RUN_MAX_ATTEMPTS sets [run] max_attempts"]));
    project.write(".ralph.toml", "[run]\nmax_atempts = 3\n");
    let broken = project.ralph(&["doctor", "--json"]).expect_code(1).json();
    let settings = finding(&broken, "settings");
    assert_eq!(settings["level"], "error");
    assert!(text(&settings["message"]).contains("max_atempts"), "{settings}");
    assert_eq!(settings["detail"], json!(["did you mean `max_attempts`?"]));
    // Nobody knows then which agent is meant, but which are there can be seen.
    assert!(findings(&broken, "agent").is_empty() && !findings(&broken, "agents").is_empty());
}

#[test]
fn doctor_says_when_a_setting_does_nothing() {
    let project = Project::new();
    project.agent("true");
    let idle = findings(&report(&project), "settings");
    assert_eq!(idle.len(), 1, "{idle:?}");
    project.configure("[hooks]\nbefore_run = \"true\"");
    let settings = findings(&report(&project), "settings");
    // Once hooks do something, there is nothing left to warn of.
    let warned = settings.iter().any(|one| one["level"] == "warning");
    let docs = include_str!("../../../../../docs/config.md");
    let line = docs.lines().find(|line| line.starts_with("| `before_run`")).unwrap();
    assert_eq!(warned, line.contains("No effect"), "{settings:?}");
}

#[test]
fn doctor_speaks_to_people_in_columns_and_without_colours_where_they_are_not_wanted() {
    let mut project = bare();
    project.set_env("CLICOLOR_FORCE", "1");
    let coloured = project.ralph(&["doctor"]).stdout;
    assert!(coloured.contains('\u{1b}'));
    project.set_env("CLICOLOR_FORCE", "0");
    project.set_env("NO_COLOR", "1");
    let plain = project.ralph(&["doctor"]).stdout;
    assert!(!plain.contains('\u{1b}'), "{plain}");
    let headings: Vec<&str> = plain.lines().filter(|line| !line.starts_with(' ')).collect();
    assert_eq!(headings, ["Machine", "Agents", "Project", "", "1 problem would stop a run; 1 warning"]);
}

#[test]
fn doctor_says_when_claude_md_does_not_lead_to_agents_md() {
    let project = Project::new();
    project.agent("true");
    let level = || finding(&project.json(&["doctor", "--json"]), "agents_md")["level"].clone();
    assert_eq!(level(), "ok");
    project.write("CLAUDE.md", "Be kind.\n");
    assert_eq!(level(), "warning");
    let text = project.ok(&["doctor"]).stdout;
    assert!(text.contains("CLAUDE.md does not mention AGENTS.md"), "{text}");
    project.write("CLAUDE.md", "Be kind.\n@AGENTS.md\n");
    assert_eq!(level(), "ok");
}

#[test]
fn doctor_sees_that_claude_md_and_agents_md_are_one_file() {
    let project = Project::new();
    project.agent("true");
    let level = || finding(&project.json(&["doctor", "--json"]), "agents_md")["level"].clone();
    project.write("AGENTS.md", "Be kind.\n");
    std::os::unix::fs::symlink("AGENTS.md", project.path("CLAUDE.md")).unwrap();
    assert_eq!(level(), "ok");
    std::fs::remove_file(project.path("AGENTS.md")).unwrap();
    std::fs::create_dir(project.path("AGENTS.md")).unwrap();
    assert_eq!(level(), "warning", "a directory cannot be kept");
}

#[test]
fn doctor_says_where_a_wrong_setting_is() {
    let mut project = Project::new();
    project.agent("true");
    project.set("notify", "webhook = \"not a url\"");
    let report = project.json(&["doctor", "--json"]);
    let settings = findings(&report, "settings");
    let is_warned = settings.iter().any(|one| {
        let message = text(&one["message"]);
        one["level"] == "warning" && message.starts_with("[notify] webhook is not a valid URL")
    });
    assert!(is_warned, "{settings:?}");
    project.set_env("RALPH_SET_RUN_LIMIT", "none");
    let report = project.ralph(&["doctor", "--json"]).expect_code(1).json();
    let settings = finding(&report, "settings");
    assert!(text(&settings["fix"]).starts_with("unset RALPH_SET_RUN_LIMIT,"), "{settings}");
}

#[test]
fn doctor_sees_a_template_that_stops_every_run() {
    let project = Project::new();
    project.agent("true");
    project.add(&["A"]);
    project.write(".ralph/templates/task.md", "{{ nonsense");
    let report = project.ralph(&["doctor", "--json"]).expect_code(1).json();
    let settings = findings(&report, "settings");
    assert_eq!(settings[1]["level"], "error", "{settings:?}");
    project.ralph(&["run"]).expect_code(2);
}
