//! What people are told of the sandbox: before a run, during it, and of each attempt.

use super::{BACKENDS, commit, confined};
use crate::run::DONE;
use crate::support::Project;

const AGENT: &str = "cat > /dev/null";

fn agent(project: &Project, script: &str) {
    project.agent(script);
    let text = project.read("agent.sh").replacen("cat > \"$RALPH_PROJECT/.ralph/last-prompt\"", AGENT, 1);
    project.write("agent.sh", &text);
    project.write(".gitignore", "");
    commit(project);
}

#[test]
fn what_confines_a_run_is_said_and_recorded() {
    for backend in BACKENDS {
        let project = confined(backend);
        agent(&project, DONE);
        project.add(&["A"]);
        let shown = project.ok(&["run"]).stdout;
        assert!(shown.lines().next().unwrap().contains(&format!(", sandbox {backend}")), "{shown}");
        let record = &project.history()[0]["sandbox"];
        assert_eq!((&record["backend"], &record["network"]), (&backend.into(), &"open".into()), "{record}");
        let status = project.json(&["status", "--json"]);
        assert_eq!(status["run"]["sandbox"]["backend"], backend, "{status}");
        let doctor = project.ralph(&["doctor", "--json"]).json();
        let findings = doctor["findings"].as_array().unwrap();
        let finding = findings.iter().find(|finding| finding["check"] == "sandbox").unwrap();
        assert!(finding["message"].as_str().unwrap().starts_with(backend), "{finding}");
    }
}

#[test]
fn a_run_without_a_sandbox_says_so_and_one_that_requires_it_does_not_start() {
    let mut project = confined("none");
    // No bubblewrap, and no Landlock either.
    project.set_env("RALPH_SANDBOX_BACKEND", "nothing");
    agent(&project, DONE);
    project.add(&["A"]);
    let refused = project.ralph(&["run", "--sandbox", "required"]).expect_code(2);
    assert!(refused.stderr.contains("[sandbox] mode is required"), "{}", refused.stderr);
    assert!(project.history().is_empty());
    let shown = project.ok(&["run"]).stdout;
    assert!(
        shown.contains(", no sandbox") && shown.contains("agents and gates may do all that you may"),
        "{shown}"
    );
    assert!(project.history()[0]["sandbox"]["backend"].is_null());
}

#[test]
fn a_sandbox_with_gaps_is_not_what_required_means() {
    let project = confined("landlock");
    agent(&project, DONE);
    project.add(&["A"]);
    let refused = project.ralph(&["run", "--sandbox", "required"]).expect_code(2);
    assert!(refused.stderr.contains("landlock does not enforce all of it"), "{}", refused.stderr);
    let project = confined("bubblewrap");
    agent(&project, DONE);
    project.add(&["A"]);
    project.ok(&["run", "--sandbox", "required"]);
}

#[test]
fn what_was_refused_is_not_counted_the_first_time_and_named_with_what_allows_it() {
    for backend in BACKENDS {
        let project = confined(backend);
        project.write("../home/elsewhere/x", "");
        agent(&project, "echo x > $HOME/elsewhere/y; echo \"<task-failed>$RALPH_TASK_ID</task-failed>\"");
        let task = project.add(&["A"]);
        project.set("run", "max_attempts = 1");
        project.ralph(&["run"]).expect_code(5);
        let history = project.history();
        let outcomes: Vec<_> = history
            .iter()
            .map(|attempt| (attempt["error_type"].as_str(), attempt["counted"].as_bool()))
            .collect();
        assert_eq!(outcomes, [(Some("sandbox_denied"), Some(false)), (None, Some(true))], "{backend}");
        let denial = &history[0]["sandbox"]["denials"][0];
        assert_eq!(
            (&denial["what"], &denial["target"]),
            (&"write".into(), &"~/elsewhere/y".into()),
            "{denial}"
        );
        let fix = denial["fix"].as_str().unwrap().to_owned();
        let analysis = project.ok(&["analyze"]).stdout;
        assert!(
            analysis.split_whitespace().collect::<Vec<_>>().join(" ").contains(&fix),
            "{analysis}\n{fix}"
        );
        assert_eq!(project.json(&["analyze", "--json"])["sandbox_denials"][0]["fix"], fix);
        // What it says is what helps.
        let words: Vec<String> =
            fix.split(' ').skip(1).map(|word| word.trim_matches('\'').to_owned()).collect();
        project.ok(&words.iter().map(String::as_str).collect::<Vec<_>>());
        project.ralph(&["run", &task]);
        assert!(project.path("../home/elsewhere/y").exists(), "{backend}: {fix}");
    }
}

#[test]
fn what_an_attempt_may_not_make_is_moved_away_before_anything_reads_it() {
    let project = confined("bubblewrap");
    agent(&project, &format!("echo '{{}}' > .mcp.json; {DONE}"));
    project.add(&["A"]);
    let shown = project.ok(&["run"]).stdout;
    assert!(shown.contains(".mcp.json may not be made in an attempt"), "{shown}");
    assert!(!project.path(".mcp.json").exists() && project.path(".ralph/sandbox").exists());
}

#[test]
fn the_demo_runs_in_the_sandbox() {
    for backend in BACKENDS {
        let mut project = Project::empty();
        project.set_env("RALPH_SANDBOX_BACKEND", backend);
        let shown = project.ok(&["demo", "--fast", "--dir", "."]).stdout;
        assert!(shown.contains(&format!(", sandbox {backend}")), "{shown}");
        assert!(project.history().iter().all(|attempt| attempt["sandbox"]["backend"] == backend));
    }
}
