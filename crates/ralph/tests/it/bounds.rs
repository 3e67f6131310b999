//! Every run ends: what the breaker forgives, and how many attempts a task gets before a person is asked.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::Project;

/// An agent that fails at tasks whose key begins with `h`, each for the cause in `cause.KEY`, else for one and the same.
fn project(tasks: &[String], run: &str) -> Project {
    let project = Project::new();
    project.agent(
        "case $RALPH_TASK_KEY in\n\
         h*) cat cause.$RALPH_TASK_KEY 2>/dev/null || echo 'error: the server frobnicates'\n\
         echo \"<task-failed>$RALPH_TASK_ID</task-failed>\";;\n\
         *) echo \"<task-done>$RALPH_TASK_ID</task-done>\";; esac",
    );
    project.set("run", run);
    let line = |key: &String| json!({"type": "task", "key": key, "title": format!("Thing {key}")});
    let plan: String = tasks.iter().map(|key| format!("{}\n", line(key))).collect();
    project.write("plan.jsonl", &plan);
    project.ok(&["import", "plan.jsonl"]);
    project
}

fn keys(prefix: &str, count: usize) -> Vec<String> {
    (1..=count).map(|n| format!("{prefix}{n}")).collect()
}

/// Counted attempts on a task.
fn counted(history: &[Value], key: &str) -> usize {
    let own = |attempt: &&Value| attempt["key"] == key && attempt["counted"] == true;
    history.iter().filter(own).count()
}

fn reason(project: &Project, key: &str) -> String {
    project.task(key)["reason"].as_str().unwrap().to_owned()
}

#[test]
fn hopeless_tasks_before_good_ones_are_forgiven_once_and_the_run_ends() {
    let (hopeless, good) = (keys("h", 20), keys("g", 40));
    let project = project(&[hopeless.clone(), good.clone()].concat(), "");
    project.set("breaker", "on_open = \"wait\"\ncooldown = \"1ms\"");
    project.ralph(&["run", "--quiet"]).expect_code(5);
    let history = project.history();
    for key in &hopeless {
        assert_eq!(project.status_of(key), "blocked", "{key}");
        let counted = counted(&history, key);
        assert!((5..=10).contains(&counted), "{key}: {counted}");
    }
    for key in &good {
        assert_eq!(counted(&history, key), 1, "{key}");
    }
    assert_eq!(project.json(&["status", "--json"])["tasks"]["done"], 40);
    // Neither the next run nor the one after that gives them more.
    for _ in 0..2 {
        project.ralph(&["run", "--quiet"]).expect_code(5);
    }
    assert_eq!(project.history().len(), history.len());
}

#[test]
fn tasks_that_failed_each_in_its_own_way_are_not_forgiven() {
    let project = project(&[keys("h", 3), keys("g", 1)].concat(), "max_attempts = 1");
    project.set("breaker", "threshold = 3");
    for (key, what) in [("h1", "apples"), ("h2", "pears"), ("h3", "nuts")] {
        let error = format!("{what}Error: no {what} in {what}.rs\n");
        project.write(&format!("cause.{key}"), &error);
    }
    project.ralph(&["run"]).expect_code(6);
    assert_eq!(project.history().len(), 3);
    // The probe succeeds, which says nothing about three different failures.
    project.ralph(&["run"]).expect_code(5);
    assert_eq!(project.history().len(), 4);
    for key in keys("h", 3) {
        assert_eq!(project.status_of(&key), "blocked", "{key}");
    }
}

#[test]
fn a_person_may_forgive_what_the_breaker_may_not() {
    let project = project(&keys("h", 2), "max_attempts = 2");
    project.set("breaker", "threshold = 4");
    for allowed in 1..4 {
        project.ralph(&["run"]).expect_code(6);
        assert_eq!(project.history().len(), 4 * allowed);
        project.ok(&["breaker", "reset"]);
        assert_eq!(project.status_of("h1"), "pending");
    }
}

#[test]
fn a_task_gets_no_more_than_max_total_attempts_without_a_go_ahead() {
    let project = project(&keys("h", 1), "max_attempts = 100\nmax_total_attempts = 4\nstuck_after = 100");
    let expect = |run: &[&str], code: i32, attempts: usize| {
        project.ralph(run).expect_code(code);
        assert_eq!(counted(&project.history(), "h1"), attempts, "{run:?}");
    };
    // Over all runs, however they end.
    expect(&["run", "--limit", "3"], 4, 3);
    assert_eq!(project.status_of("h1"), "pending");
    expect(&["run"], 5, 4);
    let why = reason(&project, "h1");
    assert!(why.starts_with("used 4 attempts, [run] max_total_attempts allows 4"), "{why}");
    assert!(why.contains("frobnicates"), "{why}");
    assert!(why.ends_with("`ralph run h1` allows 4 more"), "{why}");
    expect(&["run"], 5, 4);
    // A go-ahead allows as many again, and so does a reset.
    expect(&["run", "h1"], 5, 8);
    project.ok(&["task", "reset", "h1"]);
    expect(&["run"], 5, 12);
    // Closing the breaker is none.
    project.ok(&["breaker", "reset"]);
    expect(&["run"], 5, 12);
    // After a change of the task it is worth as many attempts as a new one, once it is opened again.
    project.ok(&["task", "reset", "h1"]);
    expect(&["run", "--limit", "3"], 4, 15);
    project.ok(&["task", "edit", "h1", "--title", "Another thing"]);
    expect(&["run"], 5, 19);
}

#[test]
fn a_task_at_the_limit_is_blocked_without_an_attempt() {
    let mut project = project(&keys("h", 1), "max_attempts = 100");
    project.ralph(&["run", "--limit", "3"]).expect_code(4);
    project.set_env("RALPH_SET_RUN_MAX_TOTAL_ATTEMPTS", "2");
    project.ralph(&["run"]).expect_code(5);
    assert_eq!(project.history().len(), 3);
    let why = reason(&project, "h1");
    assert!(why.starts_with("used 3 attempts"), "{why}");
}

#[test]
fn a_limit_of_no_attempts_is_refused() {
    let project = project(&keys("h", 1), "max_total_attempts = 0");
    let output = project.ralph(&["run"]).expect_code(2);
    assert!(output.stderr.contains("max_total_attempts"), "{}", output.stderr);
}

#[test]
fn fix_tasks_draw_on_the_attempts_of_the_task_they_are_for() {
    let project = project(&keys("h", 1), "max_attempts = 100\nmax_total_attempts = 3\nstuck_after = 100");
    project.ralph(&["run", "--recovery"]).expect_code(5);
    let history = project.history();
    let made: Vec<&Value> = history.iter().map(|attempt| &attempt["key"]).collect();
    assert_eq!(made, ["h1", "h1.1", "h1.1.1"]);
    for key in ["h1", "h1.1", "h1.1.1"] {
        assert_eq!(project.status_of(key), "blocked", "{key}");
    }
    let why = reason(&project, "h1");
    assert!(why.ends_with("`ralph run h1` allows 3 more"), "{why}");
    assert_eq!(project.json(&["task", "list", "--json"])[3], Value::Null);
    // The go-ahead for a fix task is one for the whole chain.
    project.ralph(&["run", "--recovery", "h1.1.1"]).expect_code(5);
    assert!(project.history().len() <= 6);
    assert!(project.history().len() > 3);
}

#[test]
fn a_plan_nested_ten_thousand_deep_is_imported_shown_and_deleted_in_seconds() {
    const DEPTH: usize = 10_000;
    let project = Project::new();
    let line = |n: usize| {
        let mut task = json!({"type": "task", "key": format!("k{n}"), "title": format!("Task {n}")});
        if n > 0 {
            task["parent"] = json!(format!("k{}", n - 1));
        }
        format!("{task}\n")
    };
    let plan: String = (0..DEPTH).map(line).collect();
    project.write("plan.jsonl", &plan);
    let last = format!("k{}", DEPTH - 1);
    let began = Instant::now();
    project.ok(&["import", "plan.jsonl"]);
    project.ok(&["import", "plan.jsonl"]);
    project.ok(&["task", "add", "The last", "--parent", &last, "--key", "last"]);
    assert_eq!(project.json(&["status", "--json"])["tasks"]["total"], DEPTH + 1);
    assert!(project.ok(&["run", "--dry-run"]).stdout.contains("last"));
    let tree = project.ok(&["task", "tree", "--json"]).stdout;
    assert_eq!(tree.matches("\"children\":[").count(), DEPTH + 1);
    assert_eq!(tree.matches(']').count(), tree.matches('[').count());
    project.ok(&["task", "list"]);
    project.ok(&["task", "fail", "k1"]);
    project.ok(&["status"]);
    project.ok(&["task", "reset", "k1"]);
    // A leaf that is done finishes every parent above it, and a reset opens them all again.
    project.ok(&["task", "done", "last"]);
    assert_eq!(project.status_of("k0"), "done");
    project.ok(&["task", "reset", "last"]);
    assert_eq!(project.status_of("k0"), "pending");
    project.ok(&["task", "skip", "k0"]);
    project.ok(&["task", "delete", "k0", "--recursive", "--yes"]);
    assert_eq!(project.json(&["status", "--json"])["tasks"]["total"], 0);
    // Minutes for the import alone, if each task looked at all of its ancestors.
    let took = began.elapsed();
    assert!(took < Duration::from_secs(180), "{took:?}");
}
