//! Defaults: how models are chosen when nobody says how, and what is said when defaults change or files are shared.

use serde_json::json;

use crate::run::DONE;
use crate::support::Project;

const FAILED: &str = "echo \"<task-failed>$RALPH_TASK_ID</task-failed>\"";

/// An agent of plain text with these models: nobody knows what it costs.
fn project(script: &str, models: &str, run: &str) -> Project {
    let project = Project::new();
    project.agent(script);
    let toml = project
        .read(".ralph.toml")
        .replace("command = [\"sh\", \"agent.sh\"]", &format!("command = [\"sh\", \"agent.sh\"]\n{models}"));
    project.write(".ralph.toml", &toml);
    project.set("run", run);
    project
}

const LADDER: &str = "models = [\"haiku\", \"sonnet\", \"opus\"]";

fn models(project: &Project) -> Vec<String> {
    let history = project.history();
    let models = history.iter().map(|attempt| attempt["model"].as_str());
    models.map(|model| model.unwrap().to_owned()).collect()
}

#[test]
fn str_09_without_a_strategy_adaptive_begins_cheap_and_works_without_costs() {
    let project = project(FAILED, LADDER, "");
    project.add(&["A", "--key", "a"]);
    let dry = project.ok(&["run", "--dry-run"]).stdout;
    assert!(dry.contains("attempt 1, haiku (60% chance; if it fails: "), "{dry}");
    project.ralph(&["run"]).expect_code(5);
    let models = models(&project);
    assert_eq!(models.len(), 5, "{models:?}");
    assert_eq!(models[0], "haiku");
    assert_eq!(models[4], "opus");
    let history = project.history();
    let rationale = |place: usize| history[place]["rationale"].as_str().unwrap();
    assert!(rationale(0).starts_with("adaptive: "), "{}", rationale(0));
    let status = project.task("a");
    assert_eq!(status["status"], "blocked");
    let reason = status["reason"].as_str().unwrap();
    assert!(reason.starts_with("failed 5 times in a row"), "{reason}");
}

#[test]
fn an_agent_without_models_is_tried_as_often_as_allowed() {
    let project = project(FAILED, "", "");
    project.add(&["A"]);
    project.ralph(&["run"]).expect_code(5);
    assert_eq!(models(&project), ["script"; 5]);
}

#[test]
fn str_09_a_configured_model_makes_the_first_attempt_and_is_never_undercut() {
    let failing = project(FAILED, LADDER, "model = \"sonnet\"");
    failing.add(&["A"]);
    failing.ralph(&["run"]).expect_code(5);
    let models = models(&failing);
    assert_eq!(models[0], "sonnet");
    assert!(!models.contains(&"haiku".to_owned()), "{models:?}");
    assert_eq!(failing.history()[0]["rationale"], json!("adaptive: starts with the configured model"));
}

/// Makes the project's runs those of a Ralph that knew nothing of revisions.
fn as_before_the_upgrade(project: &Project) {
    let database = project.database();
    let sql = "UPDATE runs SET defaults_revision = 0";
    assert!(database.execute(sql, []).unwrap() > 0);
}

const STRATEGY: &str = "Default changed: strategy is now \"adaptive\" (half the cost per task at nearly the same \
    success). To keep \"cost-optimized\": ralph config set run.strategy cost-optimized";
const VALUE: &str = "Default changed: value_usd is now 15";

#[test]
fn the_first_run_after_an_upgrade_names_what_changed_for_the_project_once() {
    let project = project(DONE, LADDER, "");
    let run = |title: &str| {
        project.add(&[title]);
        project.ok(&["run"]).stdout
    };
    let first = run("A");
    assert!(!first.contains("Default changed"), "a new project: {first}");
    as_before_the_upgrade(&project);
    let upgraded = run("B");
    assert!(upgraded.contains(STRATEGY), "{upgraded}");
    assert!(upgraded.contains("Default changed: rerun is now 1"), "{upgraded}");
    // It says nothing to those who never used it.
    assert!(!upgraded.contains(VALUE), "{upgraded}");
    let again = run("C");
    assert!(!again.contains("Default changed"), "{again}");
}

#[test]
fn what_the_settings_say_did_not_change() {
    for (line, told) in [
        ("strategy = \"cost-optimized\"", None),
        ("strategy = \"adaptive\"", Some(VALUE)),
        ("strategy = \"adaptive\"\nvalue_usd = 5", None),
    ] {
        let project = project(DONE, LADDER, line);
        project.set("gate", "rerun = 0\nbaseline = \"off\"");
        project.add(&["A"]);
        project.ok(&["run"]);
        as_before_the_upgrade(&project);
        project.add(&["B"]);
        let run = project.ok(&["run"]).stdout;
        let says = run.contains("Default changed");
        assert_eq!(says, told.is_some(), "{line}: {run}");
        assert!(told.is_none_or(|told| run.contains(told)), "{run}");
        assert!(!run.contains(STRATEGY), "{run}");
    }
    // A flag holds for one run: what changes for the next is told all the same.
    let project = project(DONE, LADDER, "");
    project.add(&["A"]);
    project.ok(&["run"]);
    as_before_the_upgrade(&project);
    project.add(&["B"]);
    let run = project.ok(&["run", "--strategy", "fixed"]).stdout;
    assert!(run.contains(STRATEGY), "{run}");
}

#[test]
fn agm_02_the_first_write_into_a_persons_file_is_told_with_what_turns_it_off() {
    let told = "Ralph added its sections to your AGENTS.md. To turn this off: ralph config set memory.agents_md false";
    let project = project(FAILED, "", "");
    project.write("AGENTS.md", "# How we work\n\nUse tabs.\n");
    project.add(&["A"]);
    let first = project.ralph(&["run", "--once"]).expect_code(4).stdout;
    assert_eq!(first.matches(told).count(), 1, "{first}");
    assert!(project.read("AGENTS.md").starts_with("# How we work\n\nUse tabs.\n"));
    let second = project.ralph(&["run", "--once"]).expect_code(4).stdout;
    assert!(!second.contains(told), "{second}");
    // A file that Ralph makes is nobody's surprise.
    let fresh = self::project(FAILED, "", "");
    fresh.add(&["A"]);
    let run = fresh.ralph(&["run", "--once"]).expect_code(4).stdout;
    assert!(fresh.read("AGENTS.md").contains("## Failure Context"));
    assert!(!run.contains(told), "{run}");
}
