//! `ralph plan`: a plan from a goal, what is sent back to the agent, and what a person decides.

mod agents;
mod terminal;

use std::fs;

use serde_json::{Value, json};

use crate::streams;
use crate::support::Project;

const GOAL: &str = "Add OAuth login";
const PLAN: &str = "# Login\n\n## Phase 1: Form\n\n- [ ] 1.1 Write the form\n  - **Do**: Write the form.\n  - **Files**: form.txt\n  \
    - **Verify**: `test -f form.txt`\n- [ ] 1.2 Write the page\n  - **Do**: Write the page.\n  - **Files**: page.txt\n  \
    - **Verify**: `test -f page.txt`\n";
const PROSE: &str = "I would begin with the form.\n";
const SAVED: &str = "specs/add-oauth-login/tasks.md";

/// A project whose agent gives these answers, one in each round, and the last of them from then on.
fn project(answers: &[&str]) -> Project {
    answering(Project::new(), answers)
}

fn answering(project: Project, answers: &[&str]) -> Project {
    project.agent(
        "cp .ralph/last-prompt \".ralph/prompt.$RALPH_ATTEMPT\"\n[ ! -f .ralph/does ] || . .ralph/does\n\
         n=$RALPH_ATTEMPT; while [ ! -f \".ralph/answer.$n\" ]; do n=$((n - 1)); done; cat \".ralph/answer.$n\"",
    );
    for (at, answer) in answers.iter().enumerate() {
        project.write(&format!(".ralph/answer.{}", at + 1), answer);
    }
    project
}

/// The sessions of the history: `plan 1 done`.
fn sessions(project: &Project) -> Vec<String> {
    let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let rows = project.history();
    rows.iter()
        .map(|row| format!("{} {} {}", word(&row["kind"]), row["attempt"], word(&row["outcome"])))
        .collect()
}

fn titles(project: &Project) -> Vec<String> {
    let tasks = project.json(&["task", "list", "--json"]);
    tasks.as_array().unwrap().iter().map(|task| task["title"].as_str().unwrap().to_owned()).collect()
}

/// The prompt of a round.
fn prompt(project: &Project, round: u32) -> String {
    project.read(&format!(".ralph/prompt.{round}"))
}

#[test]
fn a_good_plan_is_saved_imported_and_on_record() {
    for answer in [PLAN.to_owned(), format!("Here it is:\n\n```markdown\n{PLAN}```\n")] {
        let project = project(&[&answer]);
        let made = project.json(&["plan", GOAL, "--yes", "--json"]);
        for (field, expected) in [
            ("goal", json!(GOAL)),
            ("rounds", json!(1)),
            ("agent", json!("script")),
            ("path", json!(SAVED)),
            ("accepted", json!(true)),
            ("added", json!(2)),
            ("findings", json!([])),
            ("cost_estimated", json!(false)),
        ] {
            assert_eq!(made[field], expected, "{field}: {made}");
        }
        let task = &made["tasks"][1];
        assert_eq!(
            (&task["key"], &task["verify"], &task["files"], &task["depends_on"]),
            (&json!("1.2"), &json!("test -f page.txt"), &json!(["page.txt"]), &json!(["1.1"])),
            "{task}"
        );
        assert_eq!(project.read(SAVED), PLAN);
        assert_eq!(titles(&project), ["Write the form", "Write the page"]);
        assert_eq!(sessions(&project), ["plan 1 done"]);
        assert!(project.history()[0]["log_path"].as_str().unwrap().starts_with(".ralph/logs/"));
        assert!(project.ok(&["history"]).stdout.contains("plan"));
        let asked = prompt(&project, 1);
        assert!(asked.contains(GOAL) && asked.contains("How to answer with a plan"), "{asked}");
    }
}

#[test]
fn what_fails_the_check_goes_back_with_the_reasons() {
    let passing = PLAN.replace("test -f page.txt", "true");
    let project = project(&[PROSE, &passing, PLAN]);
    let output = project.ok(&["plan", GOAL, "--yes"]);
    assert!(output.stdout.contains("saved 2 tasks in specs/add-oauth-login/tasks.md"), "{}", output.stdout);
    assert!(output.stdout.contains("next: ralph run"), "{}", output.stdout);
    assert_eq!(sessions(&project), ["plan 1 failed", "plan 2 failed", "plan 3 done"]);
    let second = prompt(&project, 2);
    assert!(second.contains("the answer contains no plan") && second.contains(PROSE.trim()), "{second}");
    let third = prompt(&project, 3);
    assert!(third.contains("1.2: the gate `true` passes already"), "{third}");
    assert!(third.contains(&passing), "the plan so far: {third}");
    assert!(third.contains(GOAL) && !third.contains("1.1: "), "{third}");
    assert_eq!(project.read(SAVED), PLAN);
}

#[test]
fn each_fault_of_a_plan_is_sent_back() {
    let forward = PLAN.replace("the form\n  - **Do", "the form (depends on 1.2)\n  - **Do");
    let cyclic = forward.replace("the page\n  - **Do", "the page (depends on 1.1)\n  - **Do");
    // A task waits for another whose part waits for it.
    let part = "  - [ ] 1.2.1 Draw it (depends on 1.1)\n    - **Files**: it.txt\n    - **Verify**: `test -f it.txt`\n";
    let mixed = format!("{forward}{part}");
    let many: String = (1..=13).map(|n| format!("{n}.txt, ")).collect();
    for (plan, reason) in [
        (cyclic, "1.1: this task and another one depend on each other"),
        (mixed, "1.1: this task and another one depend on each other"),
        (PLAN.replace("  - **Verify**: `test -f page.txt`\n", ""), "1.2: no gate"),
        (
            PLAN.replace("`test -f page.txt`", "look at the page"),
            "1.2: no gate (Verify \"look at the page\" is not a runnable command",
        ),
        (PLAN.replace("`test -f page.txt`", "`frobnicate page`"), "1.2: "),
        (PLAN.replace("  - **Files**: page.txt\n", ""), "1.2: names no files"),
        (
            PLAN.replace("page.txt\n", &format!("{many}page.txt\n")),
            "1.2: too large for one session (14 files)",
        ),
        (PLAN.replace("page.txt\n", ".github/workflows/ci.yml\n"), "1.2: changes `.github/workflows/ci.yml`"),
        (PLAN.replace("1.2 Write", "1.1 Write"), "1.1#2: a task above has the key 1.1"),
        (PLAN.replace("[ ]", "[x]"), "the plan has no open task"),
    ] {
        let project = project(&[&plan, PLAN]);
        project.ok(&["plan", GOAL, "--yes"]);
        assert_eq!(sessions(&project), ["plan 1 failed", "plan 2 done"], "{plan}");
        let second = prompt(&project, 2);
        let (_, told) = second.split_once("The check of the plan found:").unwrap();
        assert!(told.contains(&format!("- {reason}")), "{reason}: {told}");
    }
}

#[test]
fn three_rounds_are_the_most() {
    let bad = PLAN.replace("test -f page.txt", "true");
    for (answers, kept) in [(&[PROSE][..], None), (&[PROSE, &bad], Some(&bad)), (&[&bad, PROSE], Some(&bad))]
    {
        let project = project(answers);
        let output = project.ralph(&["plan", GOAL, "--yes"]).expect_code(1);
        assert!(output.stderr.contains("no usable plan after 3 rounds"), "{}", output.stderr);
        assert!(output.stderr.contains("ralph plan -f goal.md"), "{}", output.stderr);
        assert_eq!(sessions(&project), ["plan 1 failed", "plan 2 failed", "plan 3 failed"]);
        let rejected = fs::read_to_string(project.path(".ralph/rejected-plan.md")).ok();
        assert_eq!(rejected.as_ref(), kept, "{}", output.stderr);
        assert_eq!(output.stderr.contains("ralph plan check .ralph/rejected-plan.md"), kept.is_some());
        assert_eq!(titles(&project).len(), 0);
        assert!(!project.path("specs").exists());
    }
}

#[test]
fn what_the_agent_changes_while_planning_is_undone() {
    let project = answering(Project::with_git(), &[PLAN]);
    project.write("mine.txt", "mine\n");
    project.write("draft.txt", "before\n");
    project.git(&["add", "mine.txt"]);
    project.git(&["commit", "-q", "-m", "start"]);
    project.write("mine.txt", "mine, changed\n");
    project.write(".ralph/does", "echo x > mine.txt; echo x > draft.txt; echo x > new.txt; git add new.txt");
    let output = project.ok(&["plan", GOAL, "--yes"]);
    assert_eq!(
        (project.read("mine.txt"), project.read("draft.txt")),
        ("mine, changed\n".into(), "before\n".into())
    );
    assert!(!project.path("new.txt").exists());
    let (_, place) = output.stderr.split_once("saved it at ").unwrap();
    let place = place.lines().next().unwrap();
    assert_eq!(project.git(&["show", &format!("{place}:new.txt")]), "x\n");
    assert_eq!(project.git(&["diff", "--cached", "--name-only"]), "");
}

#[test]
fn an_agent_that_plans_can_only_read() {
    let project = project(&[PLAN]);
    project.add(&["A", "--key", "a"]);
    let ralph = env!("CARGO_BIN_EXE_ralph");
    let calls = ["task add X", "task done a", "plan X", "config set run.limit 3", "status"];
    let calls = calls.map(|call| {
        format!("{ralph} {call} </dev/null >/dev/null 2>&1; echo \"$? {call}\" >> .ralph/codes\n")
    });
    project.write(".ralph/does", &calls.concat());
    project.ok(&["plan", GOAL]);
    let expected = "2 task add X\n2 task done a\n2 plan X\n2 config set run.limit 3\n0 status\n";
    assert_eq!(project.read(".ralph/codes"), expected);
    assert_eq!(titles(&project), ["A"]);
    project.ok(&["task", "done", "a"]);
}

#[test]
fn planning_keeps_to_its_cost_limit() {
    let project = streams::project(&streams::said(0.5, "no plan"), "");
    for (args, rounds) in [(&["--max-cost", "0.4"][..], 1), (&["--max-cost", "0.9"], 2)] {
        let before = project.history().len();
        let output = project.ralph(&[&["plan", GOAL, "--yes"][..], args].concat()).expect_code(4);
        assert!(output.stderr.contains("the cost limit for planning is reached"), "{}", output.stderr);
        assert!(output.stderr.contains("--max-cost"), "{}", output.stderr);
        assert_eq!(project.history().len() - before, rounds, "{args:?}");
    }
    assert_eq!(project.history()[0]["cost_usd"], 0.5);
    project.set("plan", "max_cost_usd = 0.1");
    project.ralph(&["plan", GOAL, "--yes"]).expect_code(4);
}

#[test]
fn a_failing_agent_is_told_with_what_to_do() {
    let missing = "[agents.script]\nkind = \"command\"\ncommand = [\"no-such-program\"]";
    for (settings, does, said, recorded) in [
        (missing, "", "no-such-program", "plan 1 error"),
        ("", "echo 'error: the disk is full' >&2; exit 3", "exit", "plan 1 error"),
    ] {
        let project = project(&[PLAN]);
        project.write(".ralph/does", does);
        if !settings.is_empty() {
            project.write(".ralph.toml", &format!("[run]\nagent = \"script\"\n{settings}\n"));
        }
        let output = project.ralph(&["plan", GOAL, "--yes"]).expect_code(1);
        assert!(output.stderr.contains(said) && output.stderr.contains("hint:"), "{}", output.stderr);
        assert!(!output.stderr.contains("`ralph run`"), "{}", output.stderr);
        assert_eq!(sessions(&project), [recorded]);
        assert!(!project.path("specs").exists());
    }
}

#[test]
fn without_a_terminal_a_plan_is_saved_and_not_imported() {
    let project = project(&[PLAN]);
    let output = project.ok(&["plan", GOAL, "--interview"]);
    for words in [
        "1.2 Write the page",
        "gate: test -f page.txt",
        "files: page.txt",
        "2 tasks, no estimate yet",
        "next: ralph import specs/add-oauth-login/tasks.md",
    ] {
        assert!(output.stdout.contains(words), "{words}: {}", output.stdout);
    }
    assert_eq!((project.read(SAVED), titles(&project).len()), (PLAN.to_owned(), 0));
    // What it says works, and a second plan has a place of its own.
    project.ok(&["import", SAVED]);
    let second = project.json(&["plan", GOAL, "--json"]);
    assert_eq!(
        (&second["path"], &second["accepted"]),
        (&json!("specs/add-oauth-login-2/tasks.md"), &json!(false))
    );
    assert_eq!(titles(&project).len(), 2);
}

#[test]
fn the_goal_comes_from_a_file_or_standard_input_and_the_plan_goes_where_it_shall() {
    let project = project(&[PLAN]);
    project.write("goal.md", "Write a form.\n\nAnd a page.\n");
    project.ok(&["plan", "-f", "goal.md", "-o", "plans/form.md", "--yes"]);
    assert_eq!(project.read("plans/form.md"), PLAN);
    assert!(prompt(&project, 1).contains("Write a form.\n\nAnd a page."));
    project.ralph_with_input(&["plan", "-", "-o", "other.md"], "From a pipe").expect_code(0);
    assert!(prompt(&project, 1).contains("From a pipe"));
    // Refused before the agent costs anything.
    let sessions_before = project.history().len();
    project.write("mine.md", "mine");
    for (args, said) in [
        (&["plan", GOAL, "-o", "mine.md", "--yes"][..], "mine.md exists already"),
        (&["plan", " ", "--yes"], "the goal is empty"),
        (&["plan", "-f", "nowhere.md"], "nowhere.md"),
        (&["plan"], "GOAL"),
    ] {
        let output = project.ralph(args).expect_code(2);
        assert!(output.stderr.contains(said), "{args:?}: {}", output.stderr);
    }
    assert_eq!((project.read("mine.md").as_str(), project.history().len()), ("mine", sessions_before));
}

#[test]
fn a_projects_own_template_replaces_the_instructions() {
    let project = project(&[PLAN]);
    project.write(".ralph/templates/plan.md", "Plan like a carpenter.\n");
    project.ok(&["plan", GOAL]);
    let asked = prompt(&project, 1);
    assert!(asked.contains("Plan like a carpenter.") && asked.contains(GOAL), "{asked}");
    assert!(!asked.contains("How to answer with a plan"), "{asked}");
}

#[test]
fn gates_are_not_run_where_that_is_not_wanted() {
    let project = project(&[&PLAN.replace("test -f page.txt", "touch ran")]);
    project.ok(&["plan", GOAL, "--yes", "--no-gate"]);
    assert!(!project.path("ran").exists());
    assert_eq!(sessions(&project), ["plan 1 done"]);
}

#[test]
fn plan_check_finds_what_is_wrong_with_a_file_and_with_the_plan() {
    let project = project(&[PLAN]);
    project.write("specs/good/tasks.md", PLAN);
    let bad = PLAN.replace("test -f page.txt", "true").replace("  - **Files**: form.txt\n", "");
    project.write("bad.md", &bad);
    let checks = |document: &Value| -> Vec<String> {
        let findings = document["findings"].as_array().unwrap().iter();
        findings
            .map(|f| format!("{} {}", f["task"].as_str().unwrap(), f["check"].as_str().unwrap()))
            .collect()
    };
    let good = project.json(&["plan", "check", "specs/good", "--json"]);
    assert_eq!((&good["ok"], &good["tasks"], checks(&good).len()), (&json!(true), &json!(2), 0));
    assert!(project.ok(&["plan", "check", "specs/good"]).stdout.contains("2 tasks, ok"));
    let found = project.ralph(&["plan", "check", "bad.md", "--json"]).expect_code(1).json();
    assert_eq!(
        (&found["ok"], checks(&found)),
        (&json!(false), vec!["1.1 no_files".into(), "1.2 gate_passes_already".into()])
    );
    let shown = project.ralph(&["plan", "check", "bad.md"]).expect_code(1).stdout;
    assert!(
        shown.contains("✗ 1.2: the gate `true` passes already") && shown.contains("not ready"),
        "{shown}"
    );
    // The plan as it stands: what is done has no say.
    project.ralph(&["plan", "check"]).expect_code(1);
    project.ok(&["import", "bad.md"]);
    let plan = project.ralph(&["plan", "check", "--json"]).expect_code(1).json();
    assert_eq!(checks(&plan), ["1.1 no_files", "1.2 gate_passes_already"]);
    project.ok(&["task", "edit", "1.1", "--description", "Change `form.txt`."]);
    project.ok(&["task", "done", "1.2"]);
    project.ok(&["plan", "check"]);
    assert_eq!(sessions(&project).len(), 0, "a check asks nobody");
}

#[test]
fn plan_check_fixes_a_file_through_the_agent() {
    let project = project(&[PLAN]);
    let bad = PLAN.replace("test -f page.txt", "true");
    project.write("bad.md", &bad);
    let fixed = project.json(&["plan", "check", "bad.md", "--fix", "--json"]);
    assert_eq!((&fixed["ok"], &fixed["fixed"]), (&json!(true), &json!(true)));
    assert_eq!(project.read("bad.md"), PLAN);
    let asked = prompt(&project, 1);
    assert!(asked.contains(&bad) && asked.contains("the gate `true` passes already"), "{asked}");
    assert_eq!(sessions(&project), ["plan 1 done"]);
    // A good file needs no agent.
    let again = project.json(&["plan", "check", "bad.md", "--fix", "--json"]);
    assert_eq!((&again["fixed"], project.history().len()), (&json!(false), 1));
    // An agent that cannot leaves the file alone.
    project.write("bad.md", &bad);
    project.write(".ralph/answer.1", PROSE);
    project.ralph(&["plan", "check", "bad.md", "--fix"]).expect_code(1);
    assert_eq!(project.read("bad.md"), bad);
    project.write("TODO.md", "- [ ] Something\n");
    project.ralph(&["plan", "check", "TODO.md", "--fix"]).expect_code(2);
    assert_eq!(project.read("TODO.md"), "- [ ] Something\n");
}
