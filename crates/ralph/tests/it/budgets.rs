//! Budgets of money and time: by run, by task, by day, over restarts.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::stage::send;
use crate::streams::{DONE_TEXT, done, project, said, speaker, tries};
use crate::support::{Project, eventually};

/// Waits for the next day where this one (UTC) is about to end: what is spent then would be of two days.
fn not_just_before_midnight() {
    let since_epoch = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let left = 86_400 - since_epoch % 86_400;
    if left <= 20 {
        std::thread::sleep(std::time::Duration::from_secs(left + 1));
    }
}

#[test]
fn exit_02_a_cost_limit_ends_the_run_with_work_left() {
    let project = project(&done(0.5), "");
    for title in ["A", "B", "C", "D"] {
        project.add(&[title]);
    }
    let run = project.ralph(&["run", "--max-cost", "1"]).expect_code(4);
    let reached = "the cost limit of $1 was reached ($1.00)";
    assert!(run.stdout.contains(reached), "{}", run.stdout);
    assert_eq!(tries(&project).len(), 2);
    // Every run has its own.
    project.ok(&["run", "--max-cost", "5"]);
}

#[test]
fn a_person_is_warned_once_at_four_fifths() {
    let project = project(&done(0.21), "max_cost_usd = 1.0");
    for title in ["A", "B", "C", "D", "E"] {
        project.add(&[title]);
    }
    let events = project.ok(&["run", "--json"]).json_lines();
    let near: Vec<&Value> = events.iter().filter(|event| event["type"] == "budget_near").collect();
    assert_eq!(near.len(), 1, "{near:?}");
    assert_eq!(near[0]["budget"], "run_cost");
    let message = near[0]["message"].as_str().unwrap();
    assert_eq!(message, "84% of the cost limit of $1 is used ($0.84)");
}

#[test]
fn failed_attempts_count_for_the_budget_of_a_task_which_then_waits_for_a_human() {
    let project = project(&said(0.4, "no luck"), "max_attempts = 10");
    project.add(&["A", "--key", "a"]);
    let run = project.ralph(&["run", "--max-task-cost", "1"]).expect_code(4);
    assert_eq!(tries(&project).len(), 3, "{}", run.stdout);
    assert_eq!(project.status_of("a"), "blocked");
    let reason = project.task("a")["reason"].as_str().unwrap().to_owned();
    assert!(reason.starts_with("the task's cost limit of $1 was reached ($1.20)"), "{reason}");
    // What is said to be typed next works.
    let status = project.ok(&["status"]).stdout;
    let next = "next: ralph run a --max-task-cost 3\n";
    assert!(status.contains(next), "{status}");
    project.ralph(&["run", "a", "--max-task-cost", "3", "--once"]).expect_code(4);
    assert_eq!(tries(&project).len(), 4);
}

#[test]
fn a_day_has_one_budget_over_all_runs_and_deleted_tasks_stay_paid_for() {
    not_just_before_midnight();
    let project = project(&done(0.6), "max_cost_usd_per_day = 1.0");
    let first = project.add(&["A"]);
    project.add(&["B"]);
    project.add(&["C"]);
    project.ralph(&["run", "--once"]).expect_code(4);
    project.ok(&["task", "delete", &first, "--yes"]);
    let run = project.ralph(&["run"]).expect_code(4);
    assert!(run.stdout.contains("today's cost limit of $1 was reached ($1.20)"), "{}", run.stdout);
    let run = project.ralph(&["run"]).expect_code(4);
    assert!(run.stdout.contains("today's cost limit"), "{}", run.stdout);
    assert_eq!(tries(&project).len(), 1);
}

#[test]
fn the_budget_of_a_day_holds_over_a_kill_in_the_middle_of_an_attempt() {
    not_just_before_midnight();
    let script = format!("{}; touch said; [ -e killed ] || sleep 600", said(0.7, DONE_TEXT));
    let project = project(&script, "max_cost_usd_per_day = 1.0");
    project.add(&["A"]);
    project.add(&["B"]);
    let mut child = project.start(&["run"]);
    eventually("Ralph has read what the agent costs", || {
        let logs = std::fs::read_dir(project.path(".ralph/logs"));
        let logs = logs.into_iter().flatten().flatten();
        let texts = logs.filter_map(|log| std::fs::read_to_string(log.path()).ok());
        texts.into_iter().any(|text| text.contains("0.7"))
    });
    send(&child, Signal::KILL);
    child.wait().unwrap();
    project.write("killed", "");
    project.ralph(&["run"]).expect_code(4);
    // The lost attempt costs what its log says: with the next one the budget is used up.
    assert_eq!(tries(&project), ["main error lost", "main done"]);
    let spent: f64 =
        project.database().query_row("SELECT sum(cost_usd) FROM spending", [], |row| row.get(0)).unwrap();
    assert!((spent - 1.4).abs() < 1e-9, "{spent}");
    project.ralph(&["run"]).expect_code(4);
    assert_eq!(tries(&project).len(), 2);
}

#[test]
fn a_run_that_the_days_limit_stops_says_what_allows_more() {
    let project = project(&done(0.7), "");
    project.add(&["A"]);
    project.add(&["B"]);
    let run = project.ralph(&["run", "--max-daily-cost", "0.5"]).expect_code(4);
    let told = "\n  hint: `ralph run --max-daily-cost 2` allows more today (UTC)\n";
    assert!(run.stdout.contains(told), "{}", run.stdout);
}

#[test]
fn exit_02_a_time_limit_ends_the_run_after_its_attempt() {
    let project = project(&format!("sleep 1; {}", done(0.1)), "");
    project.add(&["A"]);
    project.add(&["B"]);
    let run = project.ralph(&["run", "--max-minutes", "0.01"]).expect_code(4);
    assert!(run.stdout.contains("the time limit of"), "{}", run.stdout);
    assert_eq!(tries(&project), ["main done"]);
}

#[test]
fn a_cost_limit_that_could_not_hold_refuses_the_run() {
    let project = crate::run::project(crate::run::DONE);
    project.add(&["A"]);
    for flag in ["--max-cost", "--max-task-cost", "--max-daily-cost"] {
        let refused = project.ralph(&["run", flag, "1"]).expect_code(2);
        let told = &refused.stderr;
        assert!(told.contains("the cost of script is unknown"), "{told}");
        assert!(told.contains("[agents.script]") && told.contains(flag), "{told}");
    }
    assert!(project.history().is_empty());
    project.set("run", "max_cost_usd = 1.0");
    let doctor = project.ralph(&["doctor"]).expect_code(1);
    assert!(doctor.stdout.contains("the cost of script is unknown"), "{}", doctor.stdout);
    // What costs nothing needs no limit.
    project.set("agents.script", "price = { script = 0 }");
    project.ok(&["run"]);
}

#[test]
fn a_cost_limit_that_holds_only_in_part_is_warned_about_before_the_run() {
    let project = crate::run::project(crate::run::DONE);
    project.set("agents.script", "output = \"codex\"\nmodels = [\"a\", \"b\"]\nprice = { a = 1 }");
    project.add(&["A"]);
    let run = project.ralph(&["run", "--max-cost", "1", "--dry-run"]);
    assert!(run.stderr.contains("warning: the cost of b (script) is unknown"), "{}", run.stderr);
    let refused = |args: &[&str], model: &str| {
        let told = project.ralph(args).expect_code(2).stderr;
        let subject = format!("the cost of {model} (script) is unknown");
        let price = format!("price = {{ {model} =");
        assert!(told.contains(&subject) && told.contains(&price), "{told}");
    };
    refused(&["run", "--max-cost", "1", "--model", "b"], "b");
    let limited = ["run", "--max-cost", "1", "--dry-run"];
    project.add(&["B", "--key", "b", "--model", "weird"]);
    refused(&limited, "weird");
    project.ok(&["run", "--max-cost", "1", "--dry-run", "--model", "a"]);
    project.ok(&["task", "skip", "b"]);
    project.ok(&["config", "set", "run.model", "unknown"]);
    refused(&limited, "unknown");
}

#[test]
fn out_04_a_cap_that_the_settings_give_one_session_counts_against_the_task() {
    let capped = "echo '{\"type\":\"result\",\"subtype\":\"error_max_budget_usd\",\"is_error\":true,\
                  \"total_cost_usd\":0.5}'; exit 1";
    let project = project(capped, "max_attempts = 2");
    project.add(&["A"]);
    project.ralph(&["run", "--max-cost", "20"]).expect_code(5);
    assert_eq!(tries(&project), ["main error crash", "main error crash"]);
}

#[test]
fn a_person_is_warned_when_the_budget_of_a_task_is_nearly_used_up() {
    let project = project(&said(0.45, "no luck"), "max_attempts = 3");
    project.add(&["A", "--key", "a"]);
    let run = project.ralph(&["run", "--max-task-cost", "1"]).expect_code(5);
    let near = "a: 90% of the task's cost limit of $1 is used ($0.90)";
    assert!(run.stdout.contains(near), "{}", run.stdout);
}

#[test]
fn a_cost_that_nobody_told_is_not_zero() {
    let untold = format!(
        "echo '{{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"{DONE_TEXT}\"}}'"
    );
    let project = project(&untold, "");
    project.add(&["A"]);
    let before = project.json(&["status", "--json"]);
    assert_eq!(before["cost_usd"], 0.0);
    let events = project.ok(&["run", "--json"]).json_lines();
    for kind in ["progress", "run_finished"] {
        let last = events.iter().rfind(|event| event["type"] == kind).unwrap();
        assert_eq!(last["cost_usd"], Value::Null, "{last}");
        assert_eq!(last["cost_unknown"], 1, "{last}");
    }
    let status = project.json(&["status", "--json"]);
    for of in [&status, &status["run"], &status["last_run"]] {
        assert_eq!(of["cost_usd"], Value::Null, "{of}");
        assert_eq!(of["cost_unknown"], 1, "{of}");
    }
    let shown = project.ok(&["status"]).stdout;
    assert!(shown.contains("cost unknown"), "{shown}");

    speaker(&project, "second", &done(0.5));
    project.add(&["B"]);
    project.ok(&["run", "--agent", "second"]);
    let status = project.json(&["status", "--json"]);
    assert_eq!((&status["cost_usd"], &status["cost_unknown"]), (&json!(0.5), &json!(1)));
    assert_eq!(status["last_run"]["cost_unknown"], 0);
    let shown = project.ok(&["status"]).stdout;
    assert!(shown.contains("at least $0.50"), "{shown}");
}

#[test]
fn the_budget_of_a_task_holds_over_a_kill_in_the_middle_of_an_attempt() {
    let script = format!("{}; touch said; [ -e killed ] || sleep 600", said(0.7, "no luck"));
    let project = project(&script, "max_cost_usd_per_task = 0.5");
    project.add(&["A", "--key", "a"]);
    let mut child = project.start(&["run"]);
    eventually("the agent has said what it costs", || project.path("said").exists());
    send(&child, Signal::KILL);
    child.wait().unwrap();
    project.write("killed", "");
    project.ralph(&["run"]).expect_code(4);
    assert_eq!(tries(&project), ["main error lost"]);
    assert_eq!(project.status_of("a"), "blocked");
}

/// An agent that speaks as Codex does: it counts tokens and does not say what they cost.
fn counts_tokens(project: &Project, models: &str, price: &str) {
    project.write(
        "counts.sh",
        "cat > /dev/null\n\
         echo '{\"type\":\"thread.started\",\"thread_id\":\"s-1\"}'\n\
         echo '{\"type\":\"item.completed\",\"item\":{\"id\":\"i\",\"type\":\"agent_message\",\
         \"text\":\"<task-done>'$RALPH_TASK_ID'</task-done>\"}}'\n\
         echo '{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":300000,\
         \"cached_input_tokens\":100000,\"output_tokens\":20000}}'\n",
    );
    project.write(
        ".ralph.toml",
        &format!(
            "[run]\nagent = \"counts\"\n[agents.counts]\nkind = \"command\"\noutput = \"codex\"\n\
             command = [\"sh\", \"counts.sh\"]\nmodels = [{models:?}]\n{price}\n"
        ),
    );
    project.ok(&["init"]);
}

#[test]
fn tokens_without_a_cost_are_estimated_by_list_prices_and_limits_hold() {
    let project = Project::empty();
    counts_tokens(&project, "gpt-6-sol-2026-09-22", "");
    for title in ["A", "B", "C"] {
        project.add(&[title]);
    }
    // 200,000 tokens at $2, 100,000 from a cache at $0.20 and 20,000 written at $10, a million each.
    let run = project.ralph(&["run", "--max-cost", "1"]).expect_code(4);
    assert!(run.stdout.contains(", ~$0.62"), "{}", run.stdout);
    let reached = "the cost limit of $1 was reached (~$1.24)";
    assert!(run.stdout.contains(reached), "{}", run.stdout);
    for attempt in project.history() {
        assert_eq!(attempt["cost_usd"], 0.62, "{attempt}");
        assert_eq!(attempt["cost_estimated"], true, "{attempt}");
    }
    let status = project.json(&["status", "--json"]);
    for of in [&status, &status["last_run"]] {
        assert_eq!(of["cost_usd"], 1.24, "{of}");
        assert_eq!(of["cost_estimated"], true, "{of}");
    }
    assert_eq!(status["last_run"]["cost_today_estimated"], true);
    let stats = project.json(&["stats", "--json"]);
    assert_eq!(stats["total"]["cost_estimated"], true, "{stats}");
    for command in ["status", "history", "stats"] {
        let shown = project.ok(&[command]).stdout.replace("limit of $1", "");
        assert!(shown.contains("~$"), "{shown}");
        assert!(!shown.replace("~$", "").contains('$'), "{shown}");
    }
    assert!(project.read(".ralph/STATE.md").contains(", ~$1.24"));
}

#[test]
fn a_price_of_the_settings_wins_and_a_model_without_any_has_an_unknown_cost() {
    let cost = |model: &str, price: &str| {
        let project = Project::empty();
        counts_tokens(&project, model, price);
        project.add(&["A"]);
        project.ok(&["run"]);
        let attempt = project.history().remove(0);
        (attempt["cost_usd"].clone(), attempt["cost_estimated"].clone())
    };
    assert_eq!(cost("gpt-6-sol", "price = { gpt-6-sol = 1 }"), (json!(0.32), json!(true)));
    // What is free needs no estimate.
    assert_eq!(cost("gpt-6-sol", "price = { gpt-6-sol = 0 }"), (json!(0.0), json!(false)));
    assert_eq!(cost("gpt-6-moon", ""), (Value::Null, json!(false)));
}
