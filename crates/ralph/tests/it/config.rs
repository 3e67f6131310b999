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
    let rows = project.json(&["config", "show", "--all", "--json"]);
    let row = |section: &str, key: &str| {
        let mut all = rows.as_array().unwrap().iter();
        let row = all.find(|row| row["section"] == section && row["key"] == key);
        let row = row.unwrap_or_else(|| panic!("{section} {key}")).clone();
        (row["value"].clone(), row["source"].clone())
    };
    let file = json!(".ralph.toml");
    assert_eq!(row("agents.claude", "kind"), (json!("claude"), json!("default")));
    assert_eq!(row("agents.claude", "models"), (json!(["opus"]), file.clone()));
    assert_eq!(
        row("agents.claude", "env"),
        (json!({ "ANTHROPIC_API_KEY": "[masked]", "MODE": "calm" }), file.clone())
    );
    assert_eq!(row("agents.mine", "command"), (json!(["sh", "agent.sh", "--token", "[masked]"]), file));
    assert_eq!(row("run", "agent"), (json!("claude"), json!("default")));
    let shown = project.ok(&["config", "show"]).stdout;
    assert!(shown.contains("agents.claude.models") && shown.contains("[\"opus\"]"), "{shown}");
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
        json!({
            "section": "run", "key": "model", "value": "opus", "source": "RALPH_SET_RUN_MODEL", "line": null, "default": null
        })
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
    assert!(missing.stderr.contains("does not exist"), "{}", missing.stderr);
    Project::empty().ralph(&["config", "path"]).expect_code(2);
}

#[test]
fn config_show_lists_what_is_set_with_its_line_and_all_of_it_on_request() {
    let mut project = Project::new();
    let shown = project.ok(&["config", "show"]).stdout;
    assert!(shown.contains("All settings have their default values"), "{shown}");
    assert_eq!(project.json(&["config", "show", "--json"]), json!([]));
    project.write(".ralph.toml", "# mine\n[run]\n\nmodel = \"opus\"\n[agents.claude]\nmodels = [\"opus\"]\n");
    project.set_env("RALPH_SET_GATE_TIMEOUT", "90");
    let shown = project.ok(&["config", "show"]).stdout;
    let lines: Vec<Vec<&str>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
    let expected = [
        &["SETTING", "VALUE", "DEFAULT", "SOURCE"][..],
        &["run.model", "opus", "-", ".ralph.toml:4"],
        &["gate.timeout", "1m30s", "10m", "RALPH_SET_GATE_TIMEOUT"],
        &["agents.claude.models", "[\"opus\"]", "[\"haiku\",", "\"sonnet\",", "\"opus\"]", ".ralph.toml:6"],
    ];
    assert_eq!(lines, expected, "{shown}");
    let all = project.ok(&["config", "show", "--all"]).stdout;
    assert!(all.contains("run.max_attempts"), "{all}");
    let rows = project.json(&["config", "show", "--json"]);
    assert_eq!(rows[0]["line"], 4);
    assert_eq!(rows[1]["default"], "10m");
}

#[test]
fn config_set_changes_one_setting_and_says_what_it_was() {
    let mut project = Project::new();
    project.write(".ralph.toml", "# top\n[run]\n# cheap\nmodel = 'haiku' # for now\n");
    let set = project.ok(&["config", "set", "run.model", "opus"]);
    assert_eq!(set.text(), "run.model: haiku → opus");
    let set = project.ok(&["config", "set", "run.model", "opus"]);
    assert_eq!(set.text(), "run.model is already opus");
    project.ok(&["config", "set", "run.max_cost_usd", "20"]);
    project.ok(&["config", "set", "agents.mine.command", "sh agent.sh"]);
    let json = project.json(&["config", "set", "run.agent", "mine", "--json"]);
    assert_eq!((&json["old"], &json["new"]), (&json!("claude"), &json!("mine")));
    assert_eq!(
        project.read(".ralph.toml"),
        "# top\n[run]\n# cheap\nmodel = \"opus\" # for now\nmax_cost_usd = 20\nagent = \"mine\"\n\n\
         [agents.mine]\nkind = \"command\"\ncommand = [\"sh\", \"agent.sh\"]\n"
    );
    let unset = project.ok(&["config", "unset", "run.model"]);
    assert_eq!(unset.text(), "run.model: opus → not set");
    let unset = project.ok(&["config", "unset", "run.model"]);
    assert_eq!(unset.text(), "run.model is not set in .ralph.toml");
    project.set_env("RALPH_SET_RUN_LIMIT", "3");
    let set = project.ok(&["config", "set", "run.limit", "5"]);
    assert!(set.stderr.contains("RALPH_SET_RUN_LIMIT overrides this setting with 3"), "{}", set.stderr);
    let secret = ["config", "set", "notify.webhook_secret", "hunter2"];
    assert!(!project.ok(&secret).stdout.contains("hunter2"));
}

#[test]
fn cli_02_config_set_refuses_what_is_wrong_and_changes_nothing() {
    let project = Project::new();
    project.write(".ralph.toml", "[run]\nmodel = 'haiku'\n");
    let before = project.read(".ralph.toml");
    for (args, why) in [
        (&["set", "run.modl", "x"][..], "did you mean `run.model`?"),
        (&["set", "max_attempts", "3"], "did you mean `run.max_attempts`?"),
        (&["set", "agents.claude.modles", "x"], "did you mean `agents.claude.models`?"),
        (&["set", "run.max_attempts", "many"], "is not a whole number of at least 1"),
        (&["set", "run.max_attempts", "-1"], "is not a whole number of at least 1"),
        (&["set", "git.commit", "onsuccess"], "did you mean `on-success`?"),
        (&["set", "run.agent", "cloude"], "did you mean `claude`?"),
        (&["set", "agents.x.models", "a"], "[agents.x] has no `kind`"),
        (&["set", "agents.claude.env", "A=1"], "expected a table such as"),
        (&["unset", "run.modl"], "did you mean `run.model`?"),
    ] {
        let args: Vec<&str> = ["config"].iter().chain(args).copied().collect();
        let no = project.ralph(&args).expect_code(2);
        assert!(no.stderr.contains(why), "{args:?}: {}", no.stderr);
        assert_eq!(project.read(".ralph.toml"), before, "{args:?}");
    }
    // What keeps the file from being read can be taken out.
    project.write(".ralph.toml", "[run]\nmodle = 'haiku'\nlimit = 3\n");
    project.ralph(&["config", "set", "run.limit", "4"]).expect_code(2);
    project.ok(&["config", "unset", "run.modle"]);
    assert_eq!(project.read(".ralph.toml"), "[run]\nlimit = 3\n");
}

#[test]
fn an_empty_value_that_sets_nothing_is_not_left_in_the_file() {
    let project = Project::new();
    project.write(".ralph.toml", "[gate]\nverify = 'make'\nrequire = true\n");
    project.ok(&["config", "set", "gate.verify", ""]);
    assert_eq!(project.read(".ralph.toml"), "[gate]\nrequire = true\n");
}

#[test]
fn config_set_follows_a_link_and_makes_a_file_where_there_is_none() {
    let project = Project::new();
    std::fs::rename(project.path(".ralph.toml"), project.path("real.toml")).unwrap();
    std::os::unix::fs::symlink("real.toml", project.path(".ralph.toml")).unwrap();
    project.ok(&["config", "set", "run.limit", "4"]);
    assert!(project.path(".ralph.toml").is_symlink());
    assert!(project.read("real.toml").contains("limit = 4"));
    std::fs::remove_file(project.path(".ralph.toml")).unwrap();
    project.ok(&["config", "set", "run.limit", "4"]);
    assert_eq!(project.read(".ralph.toml"), "[run]\nlimit = 4\n");
}

#[test]
fn a_table_that_is_there_twice_is_told_with_both_lines() {
    let project = Project::new();
    project.write(".ralph.toml", "[run]\nlimit = 3\n\n[run]\nmodel = 'x'\n");
    for args in [&["config", "show"][..], &["config", "set", "run.limit", "4"], &["run"]] {
        let no = project.ralph(args).expect_code(2);
        let twice = ".ralph.toml defines [run] twice, on lines 1 and 4\n hint: move the keys below line 4";
        assert!(no.stderr.contains(twice), "{}", no.stderr);
    }
}

#[test]
fn a_wrong_value_is_not_blamed_on_the_file() {
    let project = Project::new();
    let refused = |setting: &str| {
        let output = project.ralph(&["config", "set", setting, "abc"]);
        output.expect_code(2).stderr
    };
    let wrong = refused("run.max_minutes");
    assert!(wrong.starts_with("error: run.max_minutes: `abc` is not"), "{wrong}");
    // A right section alone is no resemblance.
    assert!(!refused("run.nope").contains("did you mean"));
    assert!(refused("run.max_minute").contains("did you mean `run.max_minutes`?"));
}
