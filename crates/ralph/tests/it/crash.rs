//! Crash safety: killed at any instant, run by several at once, on a disk that refuses.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use serde_json::json;

use crate::storms::Storm;
use crate::support::Project;

/// A stormy project: tasks in chains, an agent that leaves a mark per done attempt.
fn project(tasks: usize, pause: &str) -> Project {
    let project = Project::with_git();
    project.agent(&format!(
        "{pause}; echo x >> \"work-$RALPH_TASK_KEY\"; echo \"<task-done>$RALPH_TASK_ID</task-done>\""
    ));
    for n in 0..tasks {
        let key = n.to_string();
        if n % 5 == 0 {
            project.add(&["T", "--key", &key, "--verify", "true"]);
        } else {
            project.add(&["T", "--key", &key, "--after", &(n - 1).to_string()]);
        }
    }
    project
}

#[test]
fn plan_07_a_storm_of_kills_loses_nothing_and_repeats_nothing() {
    let project = project(50, "sleep 0.01");
    project.set("run", "max_attempts = 1000\nmax_total_attempts = 1000");
    let all: Vec<String> = (0..50).map(|n| n.to_string()).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let mut resets = 0;
    let mut reset = || {
        project.ok(&[&["task", "reset"], all.as_slice()].concat());
        resets += 1;
    };
    let mut random = fastrand::Rng::with_seed(7);
    let mut storm = Storm::new("of runs", 2_000);
    storm.measure(10, || drop(project.ok(&["run", "--quiet"])));
    reset();
    while storm.goes_on() {
        let mut child = project.start(&["run", "--quiet"]);
        std::thread::sleep(storm.life(&mut random));
        if child.try_wait().unwrap().is_some() {
            // Everything is done already: open the plan again for the rest of the storm.
            reset();
            continue;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        storm.killed();
    }
    project.ok(&["run", "--quiet"]);
    storm.add(&project);
    storm.end();
    let counts = project.json(&["status", "--json"]);
    assert_eq!(counts["tasks"]["done"], json!(50));
    let database = project.database();
    let check: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
    // No try is missing or recorded twice: every task's numbers run on without a gap, and each stretch between two
    // resets ends in exactly one done attempt.
    let mut last: HashMap<String, (u64, String)> = HashMap::new();
    let mut done: HashMap<String, u32> = HashMap::new();
    for attempt in project.history() {
        let key = attempt["key"].as_str().unwrap().to_owned();
        let number = attempt["attempt_number"].as_u64().unwrap();
        let before = last.get(&key).map_or(0, |(number, _)| *number);
        assert_eq!(number, before + 1, "{key}");
        if attempt["outcome"] == json!("done") {
            *done.entry(key.clone()).or_default() += 1;
        }
        last.insert(key, (number, attempt["outcome"].as_str().unwrap().to_owned()));
    }
    assert_eq!(last.len(), 50);
    assert!(last.values().all(|(_, outcome)| outcome == "done"));
    assert!(done.values().all(|times| *times == resets + 1), "{resets} resets, {done:?}");
    let (claims, open): (i64, i64) = database
        .query_row(
            "SELECT (SELECT count(*) FROM claims), (SELECT count(*) FROM runs WHERE ended_at IS NULL)",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    assert_eq!((claims, open), (0, 0));
}

#[test]
fn sch_11_a_kill_during_migration_leaves_the_old_file_or_the_new_one() {
    for round in 0..12_u64 {
        let project = Project::empty();
        fs::create_dir_all(project.path(".ralph")).unwrap();
        project
            .database()
            .execute_batch(
                "CREATE TABLE tasks (id TEXT PRIMARY KEY, parent_id TEXT, title TEXT, description TEXT,
                     status TEXT, priority INTEGER, created_at TEXT, updated_at TEXT, claimed_by TEXT);
                 CREATE TABLE dependencies (blocker_id TEXT, blocked_id TEXT);
                 CREATE TABLE task_logs (id INTEGER PRIMARY KEY, task_id TEXT, message TEXT, timestamp TEXT);
                 WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000)
                 INSERT INTO tasks SELECT printf('t-%06x', i), NULL, 't', '', 'pending', 0,
                     '2024-01-01 00:00:00', NULL, NULL FROM n;
                 INSERT INTO task_logs (task_id, message) SELECT id, 'hello' FROM tasks;
                 PRAGMA user_version = 1;",
            )
            .unwrap();
        let mut child = project.start(&["status"]);
        std::thread::sleep(Duration::from_millis(4 * round));
        let _ = child.kill();
        child.wait().unwrap();
        let version: i64 = project.database().query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
        assert!(version >= 1, "{version}");
        let status = project.json(&["status", "--json"]);
        assert_eq!(status["tasks"]["pending"], json!(4000), "round {round}, version {version}");
        let logs: i64 =
            project.database().query_row("SELECT count(*) FROM task_logs", [], |row| row.get(0)).unwrap();
        assert_eq!(logs, 4000);
    }
}

#[test]
fn plan_06_two_runs_share_the_work_and_never_a_task() {
    // Each run's agents wait until the other run has begun an attempt, so that a quick run cannot do everything.
    let both = r#"touch "seen-$RALPH_RUN_ID"; n=0
        until [ "$(ls seen-* | wc -l)" = 2 ] || [ $n = 1000 ]; do sleep 0.02; n=$((n + 1)); done"#;
    let project = project(30, both);
    let mut first = project.start(&["run", "--quiet"]);
    let mut second = project.start(&["run", "--quiet"]);
    assert!(first.wait().unwrap().success());
    assert!(second.wait().unwrap().success());
    let attempts = project.history();
    assert_eq!(attempts.len(), 30);
    let runs: std::collections::HashSet<_> = attempts.iter().map(|a| a["run_id"].to_string()).collect();
    assert_eq!(runs.len(), 2, "one run did everything");
    for n in 0..30 {
        assert_eq!(project.read(&format!("work-{n}")), "x\n", "{n}");
    }
}

#[test]
fn a_run_waits_for_work_that_another_holds() {
    let project = project(2, "sleep 0.6");
    let mut first = project.start(&["run", "--quiet"]);
    crate::support::eventually("the first claim", || {
        project.json(&["status", "--json"])["tasks"]["in_progress"] == json!(1)
    });
    // Task 1 waits for task 0, which the first run holds.
    let waited = project.ok(&["run"]).stdout;
    assert!(waited.contains("another run, which is working on 0\n"), "{waited}");
    assert!(first.wait().unwrap().success());
    assert_eq!(project.history().len(), 2);
}

#[test]
fn a_full_disk_is_a_clear_error_and_nothing_is_lost() {
    // The agent fills a small disk of its own, once; the attempt cannot be recorded until there is room again.
    let project = Project::empty();
    let ralph = env!("CARGO_BIN_EXE_ralph");
    let story = format!(
        r#"mount -t tmpfs -o size=3m tmpfs . && cd "$PWD" || exit 99
        {ralph} init > /dev/null && {ralph} task add A --key a > /dev/null
        cat > agent.sh <<'END'
        cat > /dev/null
        if [ ! -e filled ]; then touch filled; head -c 9000000 /dev/zero > filler 2> /dev/null; fi
        echo "<task-done>$RALPH_TASK_ID</task-done>"
END
        printf '[run]\nagent = "s"\n[agents.s]\nkind = "command"\ncommand = ["sh", "agent.sh"]\n' > .ralph.toml
        {ralph} run --quiet 2> "$HOME/error"; echo "code $?"
        head -c 9000000 /dev/zero > more 2> /dev/null
        {ralph} task add B 2> "$HOME/add"; echo "code $?"
        {ralph} status > "$HOME/status"; echo "code $?"
        rm filler more
        {ralph} run --quiet; echo "code $?"
        {ralph} history --json > "$HOME/history"
        {ralph} task list --json > "$HOME/tasks""#
    );
    let mut command = std::process::Command::new("unshare");
    command.args(["-Urm", "sh", "-c", &story]).current_dir(project.root());
    let output = project.clean(&mut command).output().unwrap();
    let codes = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(codes, "code 1\ncode 1\ncode 0\ncode 0\n", "{}", String::from_utf8_lossy(&output.stderr));
    for command in ["error", "add"] {
        let error = project.read(&format!("../home/{command}"));
        assert!(error.contains("disk is full") && error.contains("hint"), "{command}: {error}");
    }
    // Who only looks needs no room.
    let status = project.read("../home/status");
    assert!(status.contains("0 of 1 done"), "{status}");
    let history: Vec<serde_json::Value> = serde_json::from_str(&project.read("../home/history")).unwrap();
    let types: Vec<_> = history.iter().map(|a| (&a["outcome"], &a["error_type"])).collect();
    assert_eq!(types, [(&json!("error"), &json!("lost")), (&json!("done"), &json!(null))]);
}

#[test]
fn a_read_only_directory_is_a_clear_error() {
    if rustix::process::getuid().is_root() {
        // Root writes everywhere; a file in the place of the directory refuses even root.
        let project = Project::empty();
        project.write(".ralph", "not a directory");
        project.write(".ralph.toml", "");
        let output = project.ralph(&["task", "add", "x"]).expect_code(1);
        assert!(output.stderr.contains("cannot create"), "{}", output.stderr);
        return;
    }
    let project = Project::new();
    fs::set_permissions(project.path(".ralph"), fs::Permissions::from_mode(0o500)).unwrap();
    let output = project.ralph(&["task", "add", "x"]).expect_code(1);
    fs::set_permissions(project.path(".ralph"), fs::Permissions::from_mode(0o700)).unwrap();
    assert!(output.stderr.contains("cannot write"), "{}", output.stderr);
}
