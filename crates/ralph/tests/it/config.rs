//! `ralph config`: what is in force, and where it comes from.

use serde_json::json;

use crate::support::Project;

#[test]
fn config_shows_agents_with_their_source_and_without_secrets() {
    let project = Project::new();
    project.configure(
        "[agents.claude]\nmodels = [\"opus\"]\nenv = { ANTHROPIC_API_KEY = \"hunter2\", MODE = \"calm\" }\n\
         [agents.mine]\nkind = \"command\"\ncommand = [\"sh\", \"agent.sh\", \"--token\", \"hunter2\"]",
    );
    let rows = project.json(&["config", "show", "--json"]);
    let row = |section: &str, key: &str| {
        let mut all = rows.as_array().unwrap().iter();
        let row = all.find(|row| row["section"] == section && row["key"] == key);
        let row = row.unwrap_or_else(|| panic!("{section} {key}")).clone();
        (row["value"].clone(), row["source"].clone())
    };
    let file = json!(".ralph.toml");
    assert_eq!(
        row("agents.claude", "kind"),
        (json!("claude"), json!("default"))
    );
    assert_eq!(
        row("agents.claude", "models"),
        (json!(["opus"]), file.clone())
    );
    assert_eq!(
        row("agents.claude", "env"),
        (
            json!({ "ANTHROPIC_API_KEY": "[masked]", "MODE": "calm" }),
            file.clone()
        )
    );
    assert_eq!(
        row("agents.mine", "command"),
        (json!(["sh", "agent.sh", "--token", "[masked]"]), file)
    );
    assert_eq!(row("run", "agent"), (json!("claude"), json!("default")));
    let shown = project.ok(&["config", "show"]).stdout;
    assert!(
        shown.contains("[agents.claude] models") && shown.contains("[\"opus\"]"),
        "{shown}"
    );
    for output in [rows.to_string(), shown] {
        assert!(!output.contains("hunter2"), "{output}");
    }
}

#[test]
fn config_get_prints_one_value() {
    let mut project = Project::new();
    let get = |project: &Project, name: &str| project.ok(&["config", "get", name]).stdout;
    assert_eq!(get(&project, "run.agent"), "claude\n");
    assert_eq!(get(&project, "run.attempt_timeout"), "30m\n");
    assert_eq!(get(&project, "run.model"), "\n", "nothing sets it");
    assert_eq!(get(&project, "agents.claude.command"), "[\"claude\"]\n");
    project.set_env("RALPH_SET_RUN_MODEL", "opus");
    assert_eq!(get(&project, "run.model"), "opus\n");
    assert_eq!(
        project.json(&["config", "get", "run.model", "--json"]),
        json!({ "section": "run", "key": "model", "value": "opus", "source": "RALPH_SET_RUN_MODEL" })
    );
}

#[test]
fn cli_02_config_get_names_the_nearest_setting() {
    let project = Project::new();
    for (name, nearest) in [
        ("run.modl", "run.model"),
        ("max_attempts", "run.max_attempts"),
        ("agents.claude.model", "agents.claude.models"),
    ] {
        let output = project.ralph(&["config", "get", name]).expect_code(2);
        let hint = format!("did you mean `{nearest}`?");
        assert!(output.stderr.contains(&hint), "{}", output.stderr);
    }
}

#[test]
fn config_path_is_where_the_settings_are_or_would_be() {
    let project = Project::new();
    project.write("deep/x", "");
    let path = project.ok(&["-C", "deep", "config", "path"]);
    let expected = project.root().canonicalize().unwrap().join(".ralph.toml");
    assert_eq!(path.text(), expected.to_str().unwrap());
    assert_eq!(path.stderr, "");
    std::fs::remove_file(expected).unwrap();
    let missing = project.ok(&["config", "path"]);
    assert!(
        missing.stderr.contains("not there yet"),
        "{}",
        missing.stderr
    );
    Project::empty().ralph(&["config", "path"]).expect_code(2);
}
