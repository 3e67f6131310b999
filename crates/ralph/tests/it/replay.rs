//! `ralph replay`: strategies compared on recorded outcomes.

use serde_json::{Value, json};

use crate::support::Project;

/// Forty easy tasks that both models solve; the large one costs ten times as much.
fn easy() -> String {
    let mut table = "task,model,success,cost_usd\n".to_owned();
    for n in 0..40 {
        table.push_str(&format!("t{n},small,1,0.1\nt{n},large,true,1.0\n"));
    }
    table
}

fn loss(report: &Value, name: &str) -> f64 {
    let all = report["strategies"].as_array().unwrap();
    let one = all.iter().find(|one| one["name"] == name).unwrap();
    one["loss"].as_f64().unwrap()
}

#[test]
fn replay_compares_every_strategy_with_hindsight_and_the_oracle() {
    let project = Project::empty();
    project.write("outcomes.csv", &easy());
    let args = ["replay", "outcomes.csv", "--ladder", "small,large", "--value", "5"];
    let json_args: Vec<&str> = args.into_iter().chain(["--json"]).collect();
    let report = project.json(&json_args);
    assert_eq!(report["best_fixed"]["sequence"], json!(["small"]));
    assert_eq!(report["oracle"]["solved"], json!(1.0));
    assert!((report["oracle"]["loss"].as_f64().unwrap() - 0.1).abs() < 1e-9);
    assert!((loss(&report, "escalate") - 0.1).abs() < 1e-9);
    assert!((loss(&report, "plan-then-execute") - 1.0).abs() < 1e-9);
    assert!(loss(&report, "adaptive") < 0.5, "it learns that small is enough");
    for name in ["fixed", "cost-optimized", "adaptive"] {
        assert!(loss(&report, name) >= 0.1 - 1e-9);
    }
    assert_eq!(project.json(&json_args), report, "the same every time");
    let human = project.ok(&args).stdout;
    assert!(human.contains("adaptive") && human.contains("40 tasks replayed"), "{human}");
}

#[test]
fn replay_names_what_is_missing() {
    let project = Project::empty();
    project.write("outcomes.csv", &easy());
    let no_ladder = project.ralph(&["replay", "outcomes.csv"]).expect_code(2);
    assert!(no_ladder.stderr.contains("large, small"), "{}", no_ladder.stderr);
    let other = ["replay", "outcomes.csv", "--ladder", "small,huge"];
    project.ralph(&other).expect_code(2);
    project.write("bad.csv", "task,model,success,cost_usd\na,m,perhaps,1\n");
    let bad = project.ralph(&["replay", "bad.csv", "--ladder", "m"]).expect_code(2);
    assert!(bad.stderr.contains("line 2: `perhaps` is not a valid success"), "{}", bad.stderr);
    project.ralph(&["replay"]).expect_code(2);
    project.ralph(&["replay", "outcomes.csv", "--retry-success", "2"]).expect_code(2);
}

#[test]
fn replay_takes_the_projects_own_history() {
    let project = Project::new();
    project.agent("echo \"<task-done>$RALPH_TASK_ID</task-done>\"");
    project.add(&["A"]);
    project.ok(&["run"]);
    let report = project.json(&["replay", "--history", "--ladder", "script", "--json"]);
    assert_eq!((&report["tasks"], &report["oracle"]["solved"]), (&json!(1), &json!(1.0)));
}

#[test]
fn replay_of_an_ordinary_history_draws_what_nobody_tried_and_says_so() {
    let project = Project::new();
    project.agent(
        "case $RALPH_MODEL.$RALPH_TASK_KEY in middle.b) echo \"<task-failed>$RALPH_TASK_ID</task-failed>\";;\n\
         *) echo \"<task-done>$RALPH_TASK_ID</task-done>\";; esac",
    );
    let toml = project.read(".ralph.toml").replace(
        "command = [\"sh\", \"agent.sh\"]",
        "command = [\"sh\", \"agent.sh\"]\nmodels = [\"small\", \"middle\", \"large\"]",
    );
    project.write(".ralph.toml", &toml);
    for key in ["a", "b", "c", "d"] {
        project.add(&[&format!("Thing {key}"), "--key", key]);
    }
    project.ok(&["run", "--strategy", "cost-optimized"]);
    let report = project.json(&["replay", "--history", "--json"]);
    assert_eq!((&report["tasks"], &report["skipped"]), (&json!(4), &json!(0)));
    assert_eq!(report["imputed"], json!(3), "large on three tasks; small was never tried");
    assert_eq!(report["without_cost"], json!(["middle", "large"]));
    let human = project.ok(&["replay", "--history"]).stdout;
    assert!(human.contains("3 outcomes not recorded"), "{human}");
    assert!(human.contains("No recorded cost for middle, large"), "{human}");
}

#[test]
fn replay_names_unknown_models_and_keeps_control_characters_to_itself() {
    let project = Project::empty();
    project.write("outcomes.csv", &easy());
    let other = ["replay", "outcomes.csv", "--ladder", "small,huge"];
    let output = project.ralph(&other).expect_code(2);
    assert!(output.stderr.contains("no outcomes for model `huge`"), "{}", output.stderr);
    project.write("bad.csv", "task,model,success,cost_usd\na,m,\u{1b}[2Jx,1\n");
    let output = project.ralph(&["replay", "bad.csv", "--ladder", "m"]).expect_code(2);
    assert!(!output.stderr.contains('\u{1b}'), "{}", output.stderr);
}
