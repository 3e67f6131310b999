//! `ralph doctor`: whether a run would work.

use serde_json::{Value, json};

use crate::support::Project;

fn finding(report: &Value, check: &str) -> Value {
    let all = report["findings"].as_array().unwrap();
    all.iter()
        .find(|one| one["check"] == check)
        .unwrap()
        .clone()
}

#[test]
fn doctor_names_what_would_stop_a_run_and_what_mends_it() {
    let project = Project::new();
    project.agent("true");
    let report = project.json(&["doctor", "--json"]);
    assert_eq!(report["ok"], json!(true), "{report}");
    assert_eq!(finding(&report, "database")["level"], "ok");
    assert_eq!(finding(&report, "plan")["level"], "warning");
    let toml = project.read(".ralph.toml");
    project.write(
        ".ralph.toml",
        &toml.replace("[\"sh\", \"agent.sh\"]", "[\"/nowhere/agent\"]"),
    );
    let output = project.ralph(&["doctor", "--json"]).expect_code(1);
    let agent = finding(&output.json(), "agent");
    assert_eq!(agent["level"], "error");
    assert!(
        agent["message"]
            .as_str()
            .unwrap()
            .contains("/nowhere/agent"),
        "{agent}"
    );
    let text = project.ralph(&["doctor"]).expect_code(1).stdout;
    assert!(text.contains("install it, or change command"), "{text}");
    let outside = Project::empty();
    outside.ralph(&["doctor"]).expect_code(1);
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
    assert!(
        text.contains("CLAUDE.md does not mention AGENTS.md"),
        "{text}"
    );
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
