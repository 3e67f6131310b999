//! Secrets of the environment and of settings, wherever an agent or a gate prints them.

use std::fs;

use crate::support::Project;

/// A value without any shape that could give it away.
const VALUE: &str = "Zebra-47-crossing-value";

#[test]
fn cap_10_a_value_of_the_environment_is_masked_everywhere() {
    let mut project = Project::new();
    project.agent(
        "echo \"the token is $MY_API_TOKEN\"
         printf '<failure-report>\\nwhat_tried: used %s\\nwhy_failed: refused %s\\n</failure-report>\\n' \"$MY_API_TOKEN\" \"$MY_API_TOKEN\"
         printf '<learning category=\"pitfall\" tags=\"a\">never print %s</learning>\\n' \"$MY_API_TOKEN\"
         echo \"<task-failed>$RALPH_TASK_ID</task-failed>\"",
    );
    project.set_env("MY_API_TOKEN", VALUE);
    project.set_env("MY_PASSWORD", "test");
    project.add(&[
        "A test",
        "--key",
        "a",
        "--verify",
        "echo $MY_API_TOKEN; exit 1",
    ]);
    let run = project.ralph(&["run", "--once"]);
    let shown = [
        run.stdout,
        run.stderr,
        project.ok(&["logs", "a"]).stdout,
        project.ok(&["failures", "show", "a", "--json"]).stdout,
        project.ok(&["history", "--json"]).stdout,
        project.ok(&["learnings", "list", "--json"]).stdout,
        fs::read_to_string(project.path("AGENTS.md")).unwrap_or_default(),
    ];
    for text in &shown {
        assert!(!text.contains(VALUE), "{text}");
    }
    assert!(shown.iter().any(|text| text.contains("[masked]")));
    assert!(
        project.ok(&["logs", "a"]).stdout.contains("A test"),
        "a plain word stays"
    );
    for entry in fs::read_dir(project.path(".ralph")).unwrap().flatten() {
        let is_database = entry
            .file_name()
            .to_string_lossy()
            .starts_with("progress.db");
        let bytes = fs::read(entry.path()).unwrap_or_default();
        let found = String::from_utf8_lossy(&bytes).contains(VALUE);
        assert!(!is_database || !found, "{:?}", entry.path());
    }
    let raw = project.ok(&["logs", "a", "--raw"]).stdout;
    assert!(raw.contains(VALUE), "raw logs are as they came");
}

#[test]
fn cap_10_ralphs_settings_do_not_reach_agents_and_gates() {
    let mut project = Project::new();
    project.agent("env > agent.env; echo \"<task-done>$RALPH_TASK_ID</task-done>\"");
    project.set("hooks", "after_run = \"env > hook.env\"");
    project.set_env("RALPH_SET_NOTIFY_WEBHOOK_SECRET", VALUE);
    project.add(&["A", "--verify", "env > gate.env"]);
    project.ok(&["run"]);
    for file in ["agent.env", "gate.env"] {
        let env = project.read(file);
        assert!(env.contains("RALPH_TASK_ID="), "{env}");
        assert!(!env.contains("RALPH_SET_") && !env.contains(VALUE), "{env}");
    }
    assert!(
        project
            .read("hook.env")
            .contains("RALPH_SET_NOTIFY_WEBHOOK_SECRET=")
    );
}

#[test]
fn sig_10_a_quoted_signal_does_not_end_a_task() {
    let project = Project::new();
    project.agent("printf 'Not yet. The rules say:\\n```\\nWrite:\\nTASK_COMPLETE\\n```\\n'");
    project.add(&["A", "--key", "a"]);
    project.ralph(&["run", "--once"]);
    assert_eq!(project.history()[0]["outcome"], "no_sigil");
}
