//! `ralph stats`: what attempts came to.

use serde_json::json;

use crate::support::Project;

/// A ladder of two; the small model fails what is hard.
fn project() -> Project {
    let project = Project::new();
    project.agent(
        "case $RALPH_TASK_KEY.$RALPH_MODEL in\n\
         hard.small) echo \"<task-failed>$RALPH_TASK_ID</task-failed>\";;\n\
         *) echo \"<task-done>$RALPH_TASK_ID</task-done>\";;\n\
         esac",
    );
    let toml = project.read(".ralph.toml");
    project.write(
        ".ralph.toml",
        &toml.replace(
            "command = [\"sh\", \"agent.sh\"]",
            "command = [\"sh\", \"agent.sh\"]\nmodels = [\"small\", \"large\"]",
        ),
    );
    project.add(&["An easy one", "--key", "easy"]);
    project.add(&["A hard one", "--key", "hard"]);
    project
}

#[test]
fn stats_say_what_each_model_did_and_what_escalation_bought() {
    let project = project();
    let empty = project.ok(&["stats"]);
    assert!(empty.stderr.contains("no attempts yet"), "{}", empty.stderr);
    project.ok(&["run", "--strategy", "escalate"]);
    let stats = project.json(&["stats", "--json"]);
    let brief = |value: &serde_json::Value| {
        json!([value["attempts"], value["done"], value["success_rate"], value["cost_usd"]])
    };
    assert_eq!(brief(&stats["total"]), json!([3, 2, 2.0 / 3.0, null]));
    assert_eq!(stats["by_model"][0]["model"], "small");
    assert_eq!(brief(&stats["by_model"][0]), json!([2, 1, 0.5, null]));
    assert_eq!(brief(&stats["by_model"][1]), json!([1, 1, 1.0, null]));
    let escalation = &stats["escalation"];
    assert_eq!(brief(&escalation["first_attempt"]), json!([2, 1, 0.5, null]));
    assert_eq!(escalation["first_try"], escalation["first_attempt"]);
    assert_eq!(brief(&escalation["same_model_again"]), json!([0, 0, 0.0, null]));
    assert_eq!(brief(&escalation["other_model"]), json!([1, 1, 1.0, null]));
    assert_eq!(stats["by_error_category"], json!([{ "category": "unknown", "failures": 1, "tasks": 1 }]));
    let hard = &stats["by_task"][0];
    assert_eq!((&hard["key"], &hard["models"]), (&json!("hard"), &json!(["small", "large"])));
    let human = project.ok(&["stats"]).stdout;
    for part in ["By model", "small", "Retry results", "retry, other model", "By error"] {
        assert!(human.contains(part), "{human}");
    }
    let run = project.history()[0]["run_id"].as_str().unwrap().to_owned();
    assert_eq!(project.json(&["stats", "--run", &run, "--json"])["total"]["attempts"], 3);
    project.ralph(&["stats", "--run", "r-none"]).expect_code(2);
}

#[test]
fn costs_are_summed_where_they_are_known() {
    let project = project();
    project.ok(&["run", "--strategy", "escalate"]);
    project
        .database()
        .execute("UPDATE iteration_outcomes SET cost_usd = 0.5 WHERE model = 'large'", [])
        .unwrap();
    let stats = project.json(&["stats", "--json"]);
    assert_eq!(stats["total"]["cost_usd"], json!(0.5));
    assert_eq!(stats["total"]["cost_per_done_usd"], json!(null));
    assert_eq!(stats["total"]["attempts_without_cost"], json!(2));
    assert_eq!(stats["by_model"][1]["cost_per_done_usd"], json!(0.5));
    let human = project.ok(&["stats"]).stdout;
    assert!(human.contains("≥$0.50"), "{human}");
    assert_eq!(stats["by_model"][0]["cost_usd"], json!(null), "unknown is not zero");
}

#[test]
fn gates_that_begin_alike_are_told_apart() {
    let project = Project::new();
    project.agent("echo \"<task-done>$RALPH_TASK_ID</task-done>\"");
    let start = "true && ".repeat(12);
    let gate = |file: &str| format!("{start}test -e {file} || {{ touch {file}; false; }}");
    for file in ["one", "two"] {
        project.add(&["Task", "--key", file, "--verify", &gate(file)]);
    }
    project.set("gate", "baseline = \"off\"");
    project.ok(&["run"]);
    for file in ["one", "two"] {
        assert_eq!(project.task(file)["verification"]["gates"][0]["command"], json!(gate(file)));
        let shown = project.ok(&["task", "show", file]).stdout;
        assert!(shown.contains("…`: exit 0"), "{shown}");
    }
    let stats = project.json(&["stats", "--json"]);
    let gates: Vec<_> =
        stats["flaky_gates"].as_array().unwrap().iter().map(|of| of["gate"].clone()).collect();
    assert_eq!(gates, [json!(gate("one")), json!(gate("two"))]);
}
