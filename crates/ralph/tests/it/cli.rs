//! The command line itself: help, settings, JSON, colours.

use serde_json::json;

use crate::support::Project;

#[test]
fn cli_03_the_project_is_found_from_below_and_flags_win() {
    let mut project = Project::new();
    project.agent("echo nothing");
    project.add(&["A", "--key", "a"]);
    project.write("deep/down/x", "");
    let mut command = project.command(&["task", "list", "--json"]);
    let output = command.current_dir(project.path("deep/down")).output().unwrap();
    assert!(output.status.success());
    assert_eq!(project.ok(&["-C", "deep/down", "task", "list"]).code, 0);

    let source = |project: &Project, key: &str| {
        let rows = project.json(&["config", "show", "--all", "--json"]);
        let row = rows.as_array().unwrap().iter().find(|row| row["key"] == json!(key)).unwrap().clone();
        (row["value"].clone(), row["source"].clone())
    };
    assert_eq!(source(&project, "max_attempts"), (json!("5"), json!("default")));
    project.set("run", "max_attempts = 4");
    assert_eq!(source(&project, "max_attempts"), (json!("4"), json!(".ralph.toml")));
    project.set_env("RALPH_SET_RUN_MAX_ATTEMPTS", "3");
    assert_eq!(source(&project, "max_attempts"), (json!("3"), json!("RALPH_SET_RUN_MAX_ATTEMPTS")));
    project.ralph(&["run", "--max-attempts", "2"]).expect_code(5);
    assert_eq!(project.history().len(), 2);
}

#[test]
fn cli_02_mistakes_are_named_with_the_nearest_right_word() {
    let project = Project::new();
    let flag = project.ralph(&["run", "--max-atempts", "3"]).expect_code(2);
    assert!(flag.stderr.contains("--max-attempts"), "{}", flag.stderr);
    let command = project.ralph(&["statsu"]).expect_code(2);
    assert!(command.stderr.contains("status"), "{}", command.stderr);
    project.add(&["A"]);
    let agent = project.ralph(&["run", "--agent", "cloude"]).expect_code(2);
    assert!(agent.stderr.contains("claude"), "{}", agent.stderr);
    project.configure("[run]\nmodell = \"x\"");
    project.write(".ralph.toml", "[run]\nmodell = \"x\"\n");
    let key = project.ralph(&["run"]).expect_code(2);
    assert!(key.stderr.contains("`model`"), "{}", key.stderr);
    project.write(".ralph.toml", "[run\n");
    project.ralph(&["status"]).expect_code(2);
}

#[test]
fn cli_01_json_is_one_document_and_nothing_else() {
    let project = Project::new();
    project.agent("echo \"<task-done>$RALPH_TASK_ID</task-done>\"");
    project.add(&["A", "--key", "a"]);
    project.ok(&["run"]);
    for args in [
        &["task", "list", "--json"][..],
        &["task", "show", "a", "--json"],
        &["task", "tree", "--json"],
        &["task", "deps", "list", "--json"],
        &["status", "--json"],
        &["history", "--json"],
        &["history", "a", "--json"],
        &["context", "a", "--json"],
        &["config", "show", "--json"],
        &["run", "--dry-run", "--json"],
    ] {
        let output = project.ok(args);
        output.json();
        assert_eq!(output.stderr, "", "{args:?}");
    }
}

#[test]
fn status_json_has_the_fields_of_the_contract() {
    let project = Project::new();
    let empty = project.json(&["status", "--json"]);
    assert_eq!(empty["run"], json!(null));
    assert_eq!(
        empty["tasks"],
        json!({
            "total": 0, "pending": 0, "in_progress": 0, "done": 0, "verified": 0, "already_green": 0,
            "reviewed": 0, "unverified": 0,
            "failed": 0, "blocked": 0, "skipped": 0, "waiting": 0,
        })
    );
    assert_eq!(
        empty["breaker"],
        json!({ "state": "closed", "failures": 0, "tasks": 0, "threshold": 5, "opened_at": null })
    );
    project.agent("echo nothing");
    project.add(&["A"]);
    project.add(&["B"]);
    project.ralph(&["run", "--once"]).expect_code(4);
    let status = project.json(&["status", "--json"]);
    assert_eq!((&status["ready"], &status["attempts"]), (&json!(2), &json!(1)));
    // The agent does not tell.
    assert_eq!(status["cost_usd"], json!(null));
    assert_eq!(status["run"]["exit_code"], json!(4));
    assert_eq!(status["breaker"]["failures"], json!(1));
}

#[test]
fn piped_output_has_no_colours_unless_forced() {
    let mut project = Project::new();
    project.add(&["A"]);
    assert!(!project.ok(&["task", "list"]).stdout.contains('\u{1b}'));
    project.set_env("CLICOLOR_FORCE", "1");
    assert!(project.ok(&["task", "list"]).stdout.contains("A"));
    project.set_env("NO_COLOR", "1");
    project.set_env("CLICOLOR_FORCE", "0");
    assert!(!project.ok(&["task", "list"]).stdout.contains('\u{1b}'));
}

#[test]
fn quiet_says_nothing_and_a_reader_that_leaves_does_no_harm() {
    let project = Project::new();
    project.agent("echo \"<task-done>$RALPH_TASK_ID</task-done>\"");
    for n in 0..5 {
        project.add(&[&format!("Task {n}")]);
    }
    let quiet = project.ok(&["run", "--quiet"]);
    assert_eq!(quiet.stdout, "");
    let mut command = project.command(&["task", "list"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn completions_and_manual_are_generated() {
    let project = Project::empty();
    for shell in ["bash", "zsh", "fish"] {
        assert!(project.ok(&["completions", shell]).stdout.contains("ralph"), "{shell}");
    }
    assert!(project.ok(&["man"]).stdout.contains(".TH ralph"));
}

#[test]
fn sch_12_a_version_1_project_goes_on() {
    let project = Project::empty();
    std::fs::create_dir_all(project.path(".ralph")).unwrap();
    project
        .database()
        .execute_batch(
            "CREATE TABLE tasks (id TEXT PRIMARY KEY, parent_id TEXT, title TEXT NOT NULL, description TEXT,
                 status TEXT NOT NULL, priority INTEGER NOT NULL, created_at TEXT, updated_at TEXT,
                 claimed_by TEXT);
             CREATE TABLE dependencies (blocker_id TEXT, blocked_id TEXT);
             CREATE TABLE task_logs (id INTEGER PRIMARY KEY, task_id TEXT, message TEXT, timestamp TEXT);
             INSERT INTO tasks VALUES ('t-aaaaaa', NULL, 'old', 'text', 'blocked', 2, '2024-01-01 00:00:00',
                 '2024-01-01 00:00:00', NULL);
             INSERT INTO task_logs VALUES (1, 't-aaaaaa', 'log', '2024-01-01 00:00:00');
             PRAGMA user_version = 1;",
        )
        .unwrap();
    let task = project.task("t-aaaaaa");
    assert_eq!(
        (&task["title"], &task["status"], &task["priority"]),
        (&json!("old"), &json!("pending"), &json!(2))
    );
    project.write(".ralph.toml", "[run]\n");
    project.agent("echo \"<task-done>$RALPH_TASK_ID</task-done>\"");
    project.ok(&["run"]);
}

#[test]
fn sch_13_a_project_from_the_future_is_left_alone() {
    let project = Project::new();
    project.database().pragma_update(None, "user_version", 999).unwrap();
    let output = project.ralph(&["status"]).expect_code(1);
    assert!(output.stderr.contains("999") && output.stderr.contains("newer"), "{}", output.stderr);
}

#[test]
fn an_environment_that_is_no_text_does_no_harm() {
    use std::os::unix::ffi::OsStrExt;
    let project = Project::new();
    let odd = std::ffi::OsStr::from_bytes(b"\xff\xfe");
    let output = project.command(&["status"]).env("ODD", odd).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let output = project.command(&["status"]).env("RALPH_SET_RUN_MODEL", odd).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_cycle_of_parents_in_an_old_file_is_shown_and_survived() {
    let project = Project::new();
    project.add(&["A", "--key", "a"]);
    project.add(&["B", "--key", "b"]);
    project
        .database()
        .execute_batch(
            "PRAGMA foreign_keys = OFF;
             UPDATE tasks SET parent_id = (SELECT t.id FROM tasks t WHERE t.key <> tasks.key);",
        )
        .unwrap();
    let tree = project.ok(&["task", "tree"]).stdout;
    assert!(tree.contains("a A") && tree.contains("b B"), "{tree}");
    project.ok(&["task", "tree", "a", "--json"]).json();
    project.ok(&["status"]);
}

#[test]
fn text_with_escape_codes_does_not_reach_the_terminal() {
    let project = Project::new();
    let evil = "x\u{1b}[2Jy\nz";
    project.add(&[evil, "--key", "k", "--verify", evil, "--model", evil, "-d", evil]);
    project.ok(&["task", "fail", "k", "--reason", evil]);
    for args in [&["task", "list"][..], &["task", "show", "k"], &["status"], &["task", "tree"]] {
        let shown = project.ok(args).stdout;
        assert!(!shown.contains('\u{1b}'), "{args:?}: {shown:?}");
    }
}

#[test]
fn an_output_that_cannot_be_written_is_an_error() {
    let project = Project::new();
    project.ok(&["learnings", "add", "something"]);
    for args in [&["learnings", "list", "--json"][..], &["learnings", "list"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = project.command(args).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write"));
    }
}

#[test]
fn sch_13_init_beside_a_newer_file_writes_nothing() {
    let project = Project::empty();
    std::fs::create_dir(project.path(".ralph")).unwrap();
    project.database().pragma_update(None, "user_version", 99).unwrap();
    let output = project.ralph(&["init"]).expect_code(1);
    assert!(output.stderr.contains("nothing was changed"), "{}", output.stderr);
    assert!(!project.path(".ralph.toml").exists());
}

#[test]
fn mistakes_in_flags_are_told_as_what_they_are() {
    let project = Project::new();
    project.add(&["A", "--key", "a"]);
    project.write("file", "");
    for (args, why) in [
        (&["run", "--recovery", "--no-recovery"][..], "cannot be used with"),
        (&["-C", "missing", "status"], "cannot open missing"),
        (&["-C", "file", "status"], "file is not a directory"),
        (&["run", "--fallback", ""], "[agents.NAME]"),
    ] {
        let no = project.ralph(args).expect_code(2);
        assert!(no.stderr.contains(why), "{args:?}: {}", no.stderr);
    }
    let launch = project.ok(&["context", "a", "--launch"]).stdout;
    assert!(launch.contains("RALPH_TASK_KEY=a\n"), "{launch}");
}

#[test]
fn cli_01_what_is_made_is_told_as_json_too() {
    let project = Project::empty();
    let made = project.json(&["init", "--json"]);
    assert_eq!(made["made"][0], ".ralph.toml");
    assert_eq!(project.json(&["init", "--json"])["made"], serde_json::json!([]));
    let task = project.json(&["task", "add", "A", "--key", "a", "--json"]);
    assert_eq!(task, project.task("a"));
    let path = project.json(&["config", "path", "--json"]);
    assert_eq!(
        path["path"].as_str().unwrap(),
        project.path(".ralph.toml").canonicalize().unwrap().display().to_string()
    );
    assert_eq!(path["exists"], true);
}
