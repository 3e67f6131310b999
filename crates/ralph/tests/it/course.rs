//! Changing course: fingerprints of failures, escalation, what a stuck task is told.

use serde_json::{Value, json};

use crate::support::Project;

/// A ladder of three; every attempt claims to be done and the gate has the word.
fn project(gate: &str) -> Project {
    let project = Project::new();
    project.agent(
        "cp .ralph/last-prompt .ralph/prompt.$RALPH_ATTEMPT\n\
         echo $RALPH_ATTEMPT > attempt\n\
         echo '<failure-report>'\n\
         echo \"what_tried: Approach number $RALPH_ATTEMPT\"\n\
         echo 'why_failed: it does not work'\n\
         echo '</failure-report>'\n\
         echo \"<task-done>$RALPH_TASK_ID</task-done>\"",
    );
    let toml = project.read(".ralph.toml");
    let models = "command = [\"sh\", \"agent.sh\"]\nmodels = [\"haiku\", \"sonnet\", \"opus\"]";
    project.write(".ralph.toml", &toml.replace("command = [\"sh\", \"agent.sh\"]", models));
    project.set("run", "strategy = \"cost-optimized\"");
    project.write("gate.sh", gate);
    project.add(&["A", "--key", "a", "--verify", "sh gate.sh"]);
    project
}

/// The same test fails every time.
const SAME: &str = "echo \"FAILED tests/test_a.py::test_one - assert $(cat attempt) == 0\"\nexit 1";
/// Another test fails each time.
const OTHER: &str = "n=$(cat attempt)\necho \"FAILED tests/test_a.py::test_$n - assert $n\"\nexit 1";

fn models(project: &Project) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    project.history().iter().map(|a| text(&a["model"])).collect()
}

fn rationales(project: &Project) -> Vec<Value> {
    project.history().iter().map(|a| a["rationale"].clone()).collect()
}

#[test]
fn str_02_the_same_failure_again_climbs_after_two() {
    let project = project(SAME);
    project.ralph(&["run"]).expect_code(5);
    assert_eq!(models(&project), ["sonnet", "sonnet", "opus", "opus", "opus"]);
    assert_eq!(
        rationales(&project)[..3],
        [
            json!("default, cost-optimized strategy"),
            json!("default, cost-optimized strategy"),
            json!("escalated after 2 consecutive failures"),
        ]
    );
}

#[test]
fn str_02_progress_earns_one_more_try() {
    let project = project(OTHER);
    project.ralph(&["run"]).expect_code(5);
    assert_eq!(models(&project), ["sonnet", "sonnet", "sonnet", "opus", "opus"]);
    assert_eq!(rationales(&project)[2], json!("retry with the same model: a new error"));
    assert_eq!(rationales(&project)[3], json!("escalated after 3 consecutive failures"));
}

#[test]
fn str_06_the_thresholds_are_settings() {
    let mut project = project(SAME);
    project.set_env("RALPH_SET_RUN_ESCALATE_AFTER", "1");
    project.set_env("RALPH_SET_RUN_STUCK_AFTER", "2");
    project.ralph(&["run", "--limit", "3"]).expect_code(4);
    assert_eq!(models(&project), ["sonnet", "opus", "opus"]);
    assert!(!project.read(".ralph/prompt.2").contains("Stuck loop detected"));
    assert!(project.read(".ralph/prompt.3").contains("Stuck loop detected"));
}

#[test]
fn str_03_a_stuck_task_gets_another_stance() {
    let project = project(SAME);
    project.ralph(&["run", "--limit", "4"]).expect_code(4);
    assert!(!project.read(".ralph/prompt.3").contains("Stuck loop detected"));
    let prompt = project.read(".ralph/prompt.4");
    let warning = "> or signaling `<task-failed>` with a clear explanation.\n\
        > Evidence: the same failure twice in a row.\n\
        > Already tried, do not repeat: “Approach number 1”; “Approach number 2”; “Approach number 3”\n\
        > Diagnose first:";
    assert!(prompt.contains(warning), "{prompt}");
}

#[test]
fn fp_05_fingerprints_are_stored_from_the_gates_output() {
    let project = project(SAME);
    project.ralph(&["run", "--limit", "2"]).expect_code(4);
    let marks: Vec<Value> = project
        .history()
        .iter()
        .map(|a| json!([a["fingerprint_coarse"], a["fingerprint_fine"], a["failing_tests"]]))
        .collect();
    assert_eq!(marks[0][0], marks[1][0], "the same test, other numbers");
    assert_eq!(marks[0][2], json!(["tests/test_a.py::test_one"]));
    let output = "FAILED tests/test_a.py::test_one - assert 1 == 0\n";
    let found = project.ralph_with_input(&["fingerprint", "--json"], output).json();
    assert_eq!(found["coarse"], marks[0][0]);
    assert_eq!(found["kind"], json!("tests"));
    let names: Vec<&String> = found.as_object().unwrap().keys().collect();
    assert_eq!(names, ["coarse", "fine", "kind"]);
}

#[test]
fn fingerprint_says_what_it_is_made_from() {
    let project = Project::empty();
    project.write("log", "  12:00:01 error: cannot open '/tmp/x1/a' after 3 tries\n");
    let human = project.ok(&["fingerprint", "log"]).stdout;
    assert!(human.contains("kind    lines"), "{human}");
    assert!(human.contains("Computed from these normalized lines:"), "{human}");
    let blank = project.ralph_with_input(&["fingerprint"], " \n").expect_code(0);
    assert!(blank.stderr.contains("the output is empty"), "{}", blank.stderr);
    let none = project.ralph_with_input(&["fingerprint", "--json"], "").json();
    assert_eq!(none, json!({ "coarse": null, "fine": null, "kind": "none" }));
    project.ralph(&["fingerprint", "missing"]).expect_code(2);
}
