//! Reviews by another agent: verdicts, reviewers that fail, rounds, budgets.

use serde_json::{Value, json};

use crate::codex::CODEX;
use crate::model_server::Reply;
use crate::run::{DONE, outcomes};
use crate::stage::{CLAUDE, Stage, assigned, user_text};
use crate::streams;
use crate::support::Project;

const ACCEPT: &str = "echo '<review-verdict>accept</review-verdict>'";
const REJECT: &str = "echo '<review-finding>a.txt:1 says nothing</review-finding>'; \
                      echo '<review-verdict>reject</review-verdict>'";

/// A project whose agent writes a.txt, with a reviewer that does this.
fn project(when: &str, reviewer: &str) -> Project {
    let project = Project::with_git();
    project.agent(&format!("echo work >> a.txt; {DONE}"));
    project.write("review.sh", &format!("cat > \"$RALPH_PROJECT/.ralph/review-prompt\"\n{reviewer}\n"));
    project.configure(&format!(
        "[review]\nagent = \"critic\"\nwhen = \"{when}\"\n\n[agents.critic]\nkind = \"command\"\ncommand = [\"sh\", \"review.sh\"]"
    ));
    project.git(&["add", "."]);
    project.git(&["commit", "-qm", "start"]);
    project
}

fn reviews(project: &Project) -> Vec<String> {
    let rows = project.history();
    let rows = rows.iter().filter(|row| row["kind"] == json!("review"));
    rows.map(|row| row["outcome"].as_str().unwrap_or("-").to_owned()).collect()
}

fn attempts(project: &Project) -> Vec<(String, Value)> {
    let rows = project.history();
    let rows = rows.iter().filter(|row| row["kind"] == json!("task"));
    rows.map(|row| (row["outcome"].as_str().unwrap().to_owned(), row["error_type"].clone())).collect()
}

#[test]
fn accepted_work_without_a_gate_is_reviewed() {
    let project = project("ungated", ACCEPT);
    project.add(&["Write it", "--key", "a", "--description", "All of it."]);
    project.add(&["Gated", "--key", "b", "--verify", "true"]);
    let run = project.ok(&["run"]);
    assert!(run.stdout.contains("2 of 2 done (1 already green, 1 reviewed)"), "{}", run.stdout);
    // What a review accepted is not among the unverified.
    let evidence = run.stdout.split("Evidence").nth(1).unwrap();
    assert!(evidence.contains("a: ") && evidence.contains("accepted by critic"), "{evidence}");
    for shown in [run.stdout, project.ok(&["status"]).stdout] {
        assert!(!shown.contains("Unverified (no gate passed)"), "{shown}");
    }
    let task = project.task("a");
    let verification = &task["verification"];
    assert_eq!(verification["level"], json!("review"));
    assert_eq!(verification["review"]["verdict"], json!("accepted"));
    assert_eq!((&verification["review"]["agent"], &task["verified"]), (&json!("critic"), &json!(false)));
    assert_eq!(reviews(&project), ["done"], "a gate verified the other");
    let prompt = project.read(".ralph/review-prompt");
    for part in ["# Task a: Write it", "All of it.", "No gate ran", "a.txt", "+work", "review-verdict"] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    assert!(project.ok(&["history"]).stdout.contains("REVIEW OF"));
}

#[test]
fn a_rejection_fails_the_attempt_and_the_next_one_reads_the_findings() {
    let project = project(
        "always",
        &format!("if [ -e .ralph/seen ]; then {ACCEPT}; else touch .ralph/seen; {REJECT}; fi"),
    );
    project.add(&["Write it", "--key", "a", "--verify", "true"]);
    let run = project.ok(&["run"]);
    assert!(run.stdout.contains("a.txt:1 says nothing"), "{}", run.stdout);
    let rejected = ("failed".to_owned(), json!("review_rejected"));
    assert_eq!(attempts(&project), [rejected, ("done".to_owned(), Value::Null)]);
    assert_eq!(reviews(&project), ["failed", "done"]);
    let history = project.ok(&["history"]).stdout;
    let row = history.lines().find(|line| line.contains("rejected: a.txt:1 says nothing"));
    assert!(row.is_some_and(|row| row.starts_with("a ")), "{history}");
    let prompt = project.read(".ralph/last-prompt");
    assert!(
        prompt.contains("Fix what the review found:") && prompt.contains("a.txt:1 says nothing"),
        "{prompt}"
    );
    assert_eq!(project.task("a")["verification"]["level"], json!("gate"));
}

#[test]
fn after_so_many_rejections_a_person_hears_both_sides() {
    let project = project("always", REJECT);
    project.add(&["Write it", "--key", "a"]);
    project.ralph(&["run"]).expect_code(5);
    assert_eq!(reviews(&project), ["failed", "failed"]);
    let reason = project.task("a")["reason"].as_str().unwrap().to_owned();
    for part in
        ["critic rejected the work: a.txt:1", "script says:", "rejected 2 times in a row", "`ralph run a`"]
    {
        assert!(reason.contains(part), "{part}: {reason}");
    }
    // A go-ahead begins a new count.
    project.ralph(&["run", "a"]).expect_code(5);
    assert_eq!(reviews(&project).len(), 4);
}

#[test]
fn a_reviewer_that_fails_costs_the_worker_nothing() {
    for (reviewer, sessions) in [
        ("echo 'It is fine.'", &["no_sigil", "no_sigil"][..]),
        (
            "echo '```'; echo x; echo '<review-verdict>accept</review-verdict>'; echo '```'",
            &["no_sigil", "no_sigil"],
        ),
        ("exit 3", &["error", "error"]),
    ] {
        let project = project("always", reviewer);
        project.add(&["Write it", "--key", "a"]);
        let run = project.ok(&["run"]);
        assert_eq!(attempts(&project), [("done".to_owned(), Value::Null)], "{reviewer}");
        assert_eq!(reviews(&project), sessions, "{reviewer}");
        assert!(run.stdout.contains("a was not reviewed: critic"), "{}", run.stdout);
        assert_eq!(project.task("a")["verification"]["level"], json!("none"));
    }
}

#[test]
fn what_a_reviewer_changes_is_undone() {
    let project = project("always", &format!("echo spoiled > a.txt; echo x > made.txt; {ACCEPT}"));
    project.add(&["Write it", "--key", "a"]);
    let run = project.ok(&["run"]);
    assert_eq!(project.read("a.txt"), "work\n");
    assert!(!project.path("made.txt").exists());
    assert!(run.stdout.contains("the reviewing agent changed files; Ralph undid that"), "{}", run.stdout);
}

#[test]
fn nothing_is_reviewed_unless_the_settings_say_so() {
    for (when, verify, expected) in
        [("never", None, 0), ("ungated", Some("true"), 0), ("ungated", None, 1), ("always", Some("true"), 1)]
    {
        let project = project(when, ACCEPT);
        let gate: Vec<&str> = verify.iter().flat_map(|verify| ["--verify", verify]).collect();
        project.add(&[&["Write it"], gate.as_slice()].concat());
        project.ok(&["run"]);
        assert_eq!(reviews(&project).len(), expected, "{when} {verify:?}");
    }
    // The project's gate does not know what the task was to achieve. One that fails as before decides nothing.
    for (always, said) in [
        ("true", "The project's gate `true` passed"),
        ("test -f never", "failed before the task, too, so it decides nothing."),
    ] {
        let project = project("ungated", ACCEPT);
        project.set("gate", &format!("always = \"{always}\""));
        project.git(&["commit", "-qam", "gate"]);
        project.add(&["Write it"]);
        project.ok(&["run"]);
        assert_eq!(reviews(&project).len(), 1, "{always}");
        let prompt = project.read(".ralph/review-prompt");
        assert!(prompt.contains(said) && !prompt.contains("No gate ran"), "{prompt}");
    }
    // What failed is not worth a review.
    let project = project("always", ACCEPT);
    project.add(&["Write it", "--verify", "false"]);
    project.ralph(&["run", "--max-attempts", "1"]).expect_code(5);
    assert_eq!((reviews(&project).len(), outcomes(&project).len()), (0, 1));
}

#[test]
fn a_template_of_the_project_replaces_the_instructions() {
    let project = project("always", ACCEPT);
    project.write(".ralph/templates/review.md", "Be strict.\n");
    project.add(&["Write it"]);
    project.ok(&["run"]);
    let prompt = project.read(".ralph/review-prompt");
    assert!(prompt.starts_with("Be strict.") && !prompt.contains("How to answer with a review"), "{prompt}");
}

#[test]
fn what_a_review_costs_counts_toward_the_limits() {
    for (limit, key) in [("--max-cost", "run"), ("--max-task-cost", "task"), ("--max-daily-cost", "day")] {
        let project = streams::project(&streams::done(0.2), "");
        streams::speaker(&project, "critic", &streams::said(0.9, "<review-verdict>reject</review-verdict>"));
        project.configure("[review]\nagent = \"critic\"\nwhen = \"always\"\nrounds = 9");
        project.add(&["Write it"]);
        let run = project.ralph(&["run", limit, "1"]).expect_code(4);
        assert_eq!((attempts(&project).len(), reviews(&project).len()), (1, 1), "{key}: {}", run.stdout);
        assert!(run.stdout.contains("$1.10"), "{key}: {}", run.stdout);
    }
}

/// The real Claude Code works and the real Codex reviews, or the other way round: only the models are scripted.
#[test]
fn real_agents_review_each_other_and_the_cost_counts() {
    for player in [&CLAUDE, &CODEX] {
        let mut rejected = false;
        let stage = Stage::with(player, Project::with_git(), move |request| {
            if user_text(&request.body).contains("How to answer with a review")
                || request.body.to_string().contains("How to answer with a review")
            {
                let verdict = if rejected { "accept" } else { "reject" };
                rejected = true;
                return Reply::text(format!(
                    "<review-finding>parser.rs is empty</review-finding>\n\n<review-verdict>{verdict}</review-verdict>"
                ));
            }
            let id = assigned(request);
            Reply::text(format!(
                "<no-change-needed>It parses.</no-change-needed>\n\n<task-done>{id}</task-done>"
            ))
        });
        let project = &stage.project;
        project.configure("[review]\nwhen = \"always\"");
        project.ok(&["run"]);
        assert_eq!(reviews(project), ["failed", "done"]);
        assert_eq!(attempts(project).len(), 2);
        let status = project.json(&["status", "--json"]);
        let spent: f64 = project.history().iter().map(|row| row["cost_usd"].as_f64().unwrap()).sum();
        assert!(spent > 0.0 && (status["cost_usd"].as_f64().unwrap() - spent).abs() < 1e-9, "{status}");
        stage.expect_no_process();
    }
}
