//! What dead runs leave, and what live ones hold.

use std::process::Command;

use super::{finding, findings, report, text};
use crate::support::{Project, eventually, processes_with};

#[test]
fn doctor_tells_live_runs_from_dead_ones() {
    let project = Project::with_git();
    project.agent("touch began; sleep 60");
    project.add(&["A", "--key", "a"]);
    let clean = report(&project);
    assert_eq!(finding(&clean, "runs")["level"], "ok");
    assert!(findings(&clean, "claims").is_empty());

    let mut run = project.start(&["run", "--quiet"]);
    eventually("the agent begins", || project.path("began").exists());
    let alive = report(&project);
    let claims = finding(&alive, "claims");
    assert_eq!(claims["level"], "ok", "{claims}");
    assert!(text(&claims["message"]).starts_with("in use: task a by r-"), "{claims}");
    let database = finding(&alive, "database");
    assert!(text(&database["detail"][0]).starts_with("its write-ahead log has"), "{database}");
    let under_way = finding(&alive, "runs");
    assert_eq!(under_way["level"], "ok");
    let id = text(&under_way["message"]).rsplit(' ').next().unwrap().to_owned();

    run.kill().unwrap();
    run.wait().unwrap();
    let dead = report(&project);
    assert_eq!(dead["ok"], true, "a run would fix it: {dead}");
    let claims = finding(&dead, "claims");
    assert_eq!(claims["level"], "warning", "{claims}");
    assert_eq!(claims["message"], "left by crashed runs: task a");
    assert!(text(&claims["fix"]).contains("the next `ralph run`"), "{claims}");
    let runs = finding(&dead, "runs");
    assert_eq!(runs["level"], "warning");
    assert!(text(&runs["message"]).ends_with(&id), "{runs}");

    // The guard ends what the run had started; this one gets away.
    eventually("the guard is done", || processes_with(&id).is_empty());
    let mut command = Command::new("sleep");
    let mut away = project.clean(command.arg("60")).env("RALPH_RUN_ID", &id).spawn().unwrap();
    let processes = finding(&report(&project), "processes");
    assert_eq!(processes["level"], "warning");
    assert!(text(&processes["message"]).contains(&away.id().to_string()), "{processes}");
    away.kill().unwrap();
    away.wait().unwrap();

    // The next run frees the task.
    project.write("agent.sh", "echo '<no-change-needed>Nothing was asked for.</no-change-needed>'; echo \"<task-done>$RALPH_TASK_ID</task-done>\"");
    project.ok(&["run", "--quiet"]);
    let after = report(&project);
    assert!(findings(&after, "claims").is_empty(), "{after}");
    assert_eq!(finding(&after, "runs")["level"], "ok");
}
